//! Rows on their way to the caller, without ever waiting for it.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use unthrottle_model::requests::{Outcome, RequestRow};
use unthrottle_model::units::SEC;

/// Rows handed over at once.
const CHUNK: usize = 1024;
/// Chunks that may wait for the caller before the one at hand grows instead.
const WAITING: usize = 256;
/// Chunks made before the start.
const SPARE: usize = 8;

/// The caller's end.
#[derive(Debug)]
pub(super) struct Finished {
    chunks: Receiver<Vec<RequestRow>>,
    empty: SyncSender<Vec<RequestRow>>,
}

impl Finished {
    /// Moves what has come into `rows`; `false` once the pacer has ended and nothing is left.
    pub(super) fn drain_into(&self, rows: &mut Vec<RequestRow>) -> bool {
        loop {
            match self.chunks.try_recv() {
                Ok(mut chunk) => {
                    rows.append(&mut chunk);
                    // Back to the pacer, so that it need not allocate. If it has enough: no matter.
                    let _ = self.empty.try_send(chunk);
                }
                Err(std::sync::mpsc::TryRecvError::Empty) => return true,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => return false,
            }
        }
    }
}

/// All rows of the run, in order of their intended time, and those not handed over yet.
#[derive(Debug)]
pub(super) struct Rows {
    all: Vec<RequestRow>,
    chunk: Vec<RequestRow>,
    /// When the chunk must be handed over at the latest.
    due_ns: Option<i64>,
    chunks: SyncSender<Vec<RequestRow>>,
    empty: Receiver<Vec<RequestRow>>,
}

impl Rows {
    pub(super) fn new(expected: usize) -> (Self, Finished) {
        let (chunks, to_caller) = sync_channel(WAITING);
        let (back, empty) = sync_channel(WAITING);
        for _ in 0..SPARE {
            let _ = back.try_send(Vec::with_capacity(CHUNK));
        }
        // Reserved, not touched: memory is taken as rows come, and never moved.
        let all = Vec::with_capacity(expected);
        let chunk = Vec::with_capacity(CHUNK);
        let finished = Finished { chunks: to_caller, empty: back };
        (Self { all, chunk, due_ns: None, chunks, empty }, finished)
    }

    /// A row of a send that begins now.
    pub(super) fn begin(&mut self, intended_ns: i64, sent_ns: i64) -> u32 {
        self.all.push(RequestRow {
            intended_ns,
            sent_ns: Some(sent_ns),
            first_byte_ns: None,
            done_ns: None,
            local_port: None,
            status: None,
            outcome: Outcome::Unfinished,
        });
        (self.all.len() - 1) as u32
    }

    /// A row of a send that does not take place.
    pub(super) fn skip(&mut self, intended_ns: i64, now_ns: i64) {
        let row = self.begin(intended_ns, now_ns);
        self.finish(row, now_ns, |row| {
            row.sent_ns = None;
            row.outcome = Outcome::Skipped;
        });
    }

    /// Completes a row, which is then handed over.
    pub(super) fn finish(&mut self, row: u32, now_ns: i64, fill: impl FnOnce(&mut RequestRow)) {
        let Some(row) = self.all.get_mut(row as usize) else { return };
        fill(row);
        self.chunk.push(row.clone());
        self.due_ns.get_or_insert(now_ns + SEC);
        // Not at every row above it: a chunk that the caller did not take is tried again later.
        if self.chunk.len().is_multiple_of(CHUNK) {
            self.hand_over();
        }
    }

    /// When rows must be handed over, if there are any.
    pub(super) fn due_ns(&self) -> Option<i64> {
        self.due_ns
    }

    /// Hands over what is at hand.
    pub(super) fn hand_over(&mut self) {
        self.due_ns = None;
        if self.chunk.is_empty() {
            return;
        }
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK));
        let full = std::mem::replace(&mut self.chunk, next);
        // A caller that is stuck in its disk must not delay a send: the rows stay here then.
        if let Err(TrySendError::Full(full)) = self.chunks.try_send(full) {
            self.chunk = full;
        }
    }

    /// The end: every row, and those that were not handed over.
    pub(super) fn into_all(self) -> (Vec<RequestRow>, Vec<RequestRow>) {
        (self.all, self.chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_that_never_looks_loses_no_row() {
        // More than may wait for it, and some that fill no chunk.
        let count = (WAITING + 10) * CHUNK + 5;
        let (mut rows, finished) = Rows::new(count);
        for k in 0..count as i64 {
            let row = rows.begin(k, k);
            rows.finish(row, k, |row| row.outcome = Outcome::Ok);
        }
        let (all, rest) = rows.into_all();
        let mut seen = Vec::new();
        assert!(!finished.drain_into(&mut seen), "the pacer's end is gone");
        assert_eq!((all.len(), seen.len()), (count, WAITING * CHUNK));
        seen.extend(rest);
        assert_eq!(seen, all);
    }

    #[test]
    fn rows_wait_a_second_and_chunks_come_back() {
        let (mut rows, finished) = Rows::new(1);
        assert_eq!(rows.due_ns(), None);
        rows.skip(7, 10);
        assert_eq!(rows.due_ns(), Some(10 + SEC));
        rows.hand_over();
        assert_eq!(rows.due_ns(), None);
        let mut seen = Vec::new();
        assert!(finished.drain_into(&mut seen), "the pacer goes on");
        let told: Vec<_> = seen.iter().map(|row| (row.intended_ns, row.sent_ns)).collect();
        assert_eq!(told, [(7, None)]);
        assert_eq!(rows.empty.try_iter().count(), SPARE, "one taken, one returned");
    }
}

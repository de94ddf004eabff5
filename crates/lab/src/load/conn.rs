//! Connections by place, reused without allocating.

use std::os::fd::OwnedFd;

use rustix::event::epoll::EventFlags;

use super::response::Response;
use super::socket::Opened;

/// What a connection is there for at the moment.
#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    /// The place is empty.
    Free,
    /// Opened before the start, not established yet.
    Opening,
    /// Established, waits for a request.
    Idle,
    /// Carries a request.
    Busy(Exchange),
}

/// One request and its response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    /// Its row.
    pub(super) row: u32,
    /// Bytes of the request that the kernel has taken.
    pub(super) written: usize,
    /// The connection is not established yet.
    pub(super) connecting: bool,
    /// The connection was idle before, so the server may have closed it meanwhile.
    pub(super) reused: bool,
    /// It is the second attempt.
    pub(super) retried: bool,
    /// Nothing more can be written; what the server still has to say can be read.
    pub(super) deaf: bool,
}

/// One place.
#[derive(Debug)]
pub(super) struct Conn {
    fd: Option<OwnedFd>,
    generation: u32,
    pub(super) port: Option<u16>,
    pub(super) state: State,
    /// What epoll watches it for; empty = not added yet.
    pub(super) watched: EventFlags,
    pub(super) response: Response,
}

impl Conn {
    /// The socket, if the place is not empty.
    pub(super) fn fd(&self) -> Option<&OwnedFd> {
        self.fd.as_ref()
    }
}

/// All places.
#[derive(Debug, Default)]
pub(super) struct Conns {
    places: Vec<Conn>,
    free: Vec<u32>,
}

impl Conns {
    /// Puts a socket into an empty place.
    pub(super) fn insert(&mut self, opened: Opened) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Conn {
                fd: None,
                generation: 0,
                port: None,
                state: State::Free,
                watched: EventFlags::empty(),
                response: Response::default(),
            });
            (self.places.len() - 1) as u32
        });
        self.replace(place, opened);
        place
    }

    /// Puts another socket into a place and closes the one that was there.
    pub(super) fn replace(&mut self, place: u32, opened: Opened) {
        let conn = &mut self.places[place as usize];
        conn.fd = Some(opened.fd);
        conn.port = opened.port;
        conn.watched = EventFlags::empty();
        conn.generation = conn.generation.wrapping_add(1);
    }

    /// Closes and empties a place.
    pub(super) fn remove(&mut self, place: u32) {
        let conn = &mut self.places[place as usize];
        if conn.fd.take().is_some() {
            conn.state = State::Free;
            conn.generation = conn.generation.wrapping_add(1);
            self.free.push(place);
        }
    }

    /// The place, which the caller has from this table.
    pub(super) fn get(&mut self, place: u32) -> &mut Conn {
        &mut self.places[place as usize]
    }

    /// Names a socket. Events of one batch may come for a socket that the events before them had
    /// closed, whose place another one has taken: its token is a different one.
    pub(super) fn token(&self, place: u32) -> u64 {
        u64::from(self.places[place as usize].generation) << 32 | u64::from(place)
    }

    /// The place of a token, if its socket is still there.
    pub(super) fn find(&self, token: u64) -> Option<u32> {
        let place = token as u32;
        let conn = self.places.get(place as usize)?;
        (conn.fd.is_some() && u64::from(conn.generation) == token >> 32).then_some(place)
    }

    /// How many places are taken.
    pub(super) fn live(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// How many places there are.
    pub(super) fn len(&self) -> u32 {
        self.places.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    /// Any descriptor will do.
    fn opened() -> Opened {
        let fd = eventfd(0, EventfdFlags::CLOEXEC).expect("a descriptor");
        Opened { fd, connected: true, port: None }
    }

    #[test]
    fn a_token_does_not_name_the_next_socket_in_its_place() {
        let mut conns = Conns::default();
        let first = conns.insert(opened());
        let old = conns.token(first);
        assert_eq!(conns.find(old), Some(first));
        conns.remove(first);
        assert_eq!((conns.find(old), conns.live()), (None, 0));
        conns.remove(first);
        assert_eq!(conns.insert(opened()), first, "the place is taken again");
        assert_eq!((conns.find(old), conns.live(), conns.len()), (None, 1, 1));
        let before = conns.token(first);
        conns.replace(first, opened());
        assert_eq!(conns.find(before), None);
        assert_eq!(conns.find(conns.token(first)), Some(first));
        assert_eq!(conns.find(u64::MAX), None);
    }
}

//! Where the body of a response ends. Its bytes are counted, not kept.

use super::response::Bad;

/// How far the body has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    /// So many bytes are still to come.
    Length(u64),
    /// In chunks that say their size.
    Chunked(Chunks),
    /// Until the server closes.
    UntilClose,
}

impl Body {
    /// Takes what came; the number of its bytes that belong to the body, once that is complete.
    pub(super) fn feed(&mut self, data: &[u8]) -> Result<Option<usize>, Bad> {
        match self {
            Self::Length(left) => {
                let taken = data.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= taken as u64;
                Ok((*left == 0).then_some(taken))
            }
            Self::Chunked(chunks) => chunks.feed(data),
            Self::UntilClose => Ok(None),
        }
    }
}

/// Longest line of a chunk's extensions, and longest trailer section, bytes.
const MAX_OVERHEAD: u32 = 64 * 1024;

/// A body in chunks, one byte at a time where it is not data: the lines may be cut anywhere, and
/// nothing is kept to read them again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Chunks {
    at: At,
    /// Of the chunk, still to come.
    left: u64,
    /// Bytes since the last chunk that were not data.
    overhead: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum At {
    #[default]
    SizeBegin,
    Size,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerBegin,
    Trailer,
    LastLf,
}

impl Chunks {
    fn feed(&mut self, data: &[u8]) -> Result<Option<usize>, Bad> {
        let mut at = 0;
        while let Some(byte) = data.get(at) {
            if self.at == At::Data {
                let there = (data.len() - at) as u64;
                let taken = self.left.min(there);
                self.left -= taken;
                at += taken as usize;
                if self.left == 0 {
                    self.at = At::DataCr;
                    self.overhead = 0;
                }
                continue;
            }
            at += 1;
            self.overhead += 1;
            if self.overhead > MAX_OVERHEAD {
                return Err(Bad::Chunk);
            }
            if self.byte(*byte)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// One byte that is not data; whether it was the last of the body.
    fn byte(&mut self, byte: u8) -> Result<bool, Bad> {
        self.at = match (self.at, byte) {
            (At::SizeBegin | At::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = (byte as char).to_digit(16).map_or(0, u64::from);
                let larger = self.left.checked_mul(16).and_then(|left| left.checked_add(digit));
                self.left = larger.ok_or(Bad::Chunk)?;
                At::Size
            }
            (At::Size, b';' | b' ' | b'\t') => At::Extension,
            (At::Size | At::Extension, b'\r') => At::SizeLf,
            (At::Size | At::Extension | At::SizeLf, b'\n') => {
                if self.left == 0 {
                    At::TrailerBegin
                } else {
                    At::Data
                }
            }
            (At::Extension, _) => At::Extension,
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataCr | At::DataLf, b'\n') => At::SizeBegin,
            (At::TrailerBegin, b'\r') => At::LastLf,
            (At::TrailerBegin | At::LastLf, b'\n') => return Ok(true),
            (At::Trailer, b'\n') => At::TrailerBegin,
            (At::TrailerBegin | At::Trailer, _) => At::Trailer,
            _ => return Err(Bad::Chunk),
        };
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Result<Option<usize>, Bad> {
        Body::Chunked(Chunks::default()).feed(text.as_bytes())
    }

    #[test]
    fn chunks_cut_anywhere() {
        let text = "5\r\nhello\r\n1a;name=\"v\" ; x\r\nabcdefghijklmnopqrstuvwxyz\r\n0A\n0123456789\n\
                    000\r\nSum: 1\r\nOther: 2\r\n\r\n";
        let with_rest = format!("{text}HTTP/1.1 200");
        assert_eq!(whole(&with_rest), Ok(Some(text.len())));
        for cut in 0..=text.len() {
            let mut body = Body::Chunked(Chunks::default());
            let (first, second) = text.as_bytes().split_at(cut);
            let complete = body.feed(first);
            if cut == text.len() {
                assert_eq!(complete, Ok(Some(cut)));
            } else {
                assert_eq!(complete, Ok(None), "{cut}");
                assert_eq!(body.feed(second), Ok(Some(second.len())), "{cut}");
            }
        }
        let mut body = Body::Chunked(Chunks::default());
        let complete: Vec<bool> = text
            .bytes()
            .map(|byte| body.feed(&[byte]).expect("a chunked body").is_some())
            .collect();
        assert_eq!(complete.iter().position(|done| *done), Some(text.len() - 1));
    }

    #[test]
    fn what_is_no_chunk() {
        for text in [
            "\r\n",
            ";\r\n",
            "x\r\n",
            "-1\r\n",
            "5\r\rhello",
            "2\r\nhello\r\n",
            "0\r\n\rx",
            "10000000000000000\r\n",
        ] {
            assert_eq!(whole(text), Err(Bad::Chunk), "{text:?}");
        }
        let endless = "0\r\n".to_owned() + &"a: b\r\n".repeat(20_000);
        assert_eq!(whole(&endless), Err(Bad::Chunk));
        assert_eq!(whole("ffffffffffffffff\r\nabc"), Ok(None));
    }

    #[test]
    fn a_length() {
        let mut body = Body::Length(5);
        assert_eq!(body.feed(b"abc"), Ok(None));
        assert_eq!(body.feed(b"defg"), Ok(Some(2)));
        assert_eq!(Body::Length(0).feed(b"x"), Ok(Some(0)));
        assert_eq!(Body::UntilClose.feed(b"x"), Ok(None));
    }
}

//! Writes an archive: tar, each member a zstd frame of its own with its checksum, so that an interrupted one can be cut back
//! to whole members and go on. `tar --zstd -xf` and `zstd -d | tar x` read it.

use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

use tar::{Builder, Header};
use zstd::stream::write::Encoder;

use super::CHUNK_BYTES;
use super::manifest::{self, Manifest, Member};
use super::plan::Opened;
use super::progress::Shown;
use crate::env::{File, FileSystem, OpenMode};
use crate::types::Timestamp;

/// The archive while it grows.
pub(super) struct ArchiveWriter {
    tar: Builder<Frames>,
    synced: u64,
}

impl ArchiveWriter {
    /// Goes on behind the first `bytes` of a file, which end with a whole member.
    pub fn open(files: &dyn FileSystem, path: &Path, bytes: u64, level: i32) -> io::Result<Self> {
        let file = files.open(path, OpenMode::CreateOrKeep)?;
        if file.len()? < bytes {
            return Err(io::Error::other("it is shorter than what was written to it"));
        }
        file.set_len(bytes)?;
        let frames = Frames { out: Some(Output { file, position: bytes }), level, encoder: None };
        Ok(Self { tar: Builder::new(frames), synced: bytes })
    }

    /// Adds a file.
    pub fn member(
        &mut self,
        path: &str,
        opened: &Opened,
        taken: Timestamp,
        shown: &mut Shown,
    ) -> io::Result<Member> {
        let bytes = opened.bytes();
        let reader = MemberReader { opened, at: 0, crc: 0, shown };
        let mut reader = BufReader::with_capacity(CHUNK_BYTES, reader);
        self.tar.append_data(&mut header(bytes, taken), path, &mut reader)?;
        self.tar.get_mut().end_frame()?;
        let MemberReader { at, crc, .. } = reader.into_inner();
        if at < bytes {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{path} was cut")));
        }
        Ok(Member { path: path.to_owned(), bytes, crc })
    }

    /// Bytes that a power cut may still take.
    pub fn unsynced(&self) -> u64 {
        self.position() - self.synced
    }

    /// Makes all whole members durable; their length.
    pub fn sync(&mut self) -> io::Result<u64> {
        self.tar.get_mut().output()?.file.sync()?;
        self.synced = self.position();
        Ok(self.synced)
    }

    /// The manifest, and the end of the archive.
    pub fn finish(mut self, manifest: &Manifest) -> io::Result<()> {
        let bytes = manifest.encode();
        let mut header = header(bytes.len() as u64, manifest.taken);
        self.tar.append_data(&mut header, manifest::FILE_NAME, bytes.as_slice())?;
        self.tar.get_mut().end_frame()?;
        self.tar.finish()?;
        self.tar.get_mut().end_frame()?;
        self.tar.get_mut().output()?.file.sync()
    }

    fn position(&self) -> u64 {
        self.tar.get_ref().out.as_ref().map_or(self.synced, |out| out.position)
    }
}

fn header(bytes: u64, taken: Timestamp) -> Header {
    let mut header = Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_mtime(u64::try_from(taken.get() / 1000).unwrap_or(0));
    header
}

/// Pulls the bytes of a member.
struct MemberReader<'a> {
    opened: &'a Opened,
    at: u64,
    crc: u32,
    shown: &'a mut Shown,
}

impl Read for MemberReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.opened.bytes() - self.at;
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let buffer = &mut buffer[..wanted];
        let read = match self.opened {
            Opened::Prefix(file, _) => file.read_at(buffer, self.at)?,
            Opened::Bytes(bytes) => {
                let from = usize::try_from(self.at).unwrap_or(bytes.len());
                buffer.copy_from_slice(&bytes[from..from + wanted]);
                wanted
            }
        };
        self.crc = crc32c::crc32c_append(self.crc, &buffer[..read]);
        self.at += read as u64;
        self.shown.add(read as u64);
        Ok(read)
    }
}

/// Compresses what is written, a frame for each member.
struct Frames {
    /// Where frames go; the encoder has it while one is open.
    out: Option<Output>,
    level: i32,
    encoder: Option<Encoder<'static, Output>>,
}

struct Output {
    file: Arc<dyn File>,
    position: u64,
}

impl Frames {
    fn end_frame(&mut self) -> io::Result<()> {
        if let Some(encoder) = self.encoder.take() {
            self.out = Some(encoder.finish()?);
        }
        Ok(())
    }

    fn output(&mut self) -> io::Result<&Output> {
        self.end_frame()?;
        self.out.as_ref().ok_or_else(failed_before)
    }

    fn encoder(&mut self) -> io::Result<&mut Encoder<'static, Output>> {
        if let Some(out) = self.out.take() {
            let mut encoder = Encoder::new(out, self.level)?;
            encoder.include_checksum(true)?;
            self.encoder = Some(encoder);
        }
        self.encoder.as_mut().ok_or_else(failed_before)
    }
}

fn failed_before() -> io::Error {
    io::Error::other("a write before this one has failed")
}

impl Write for Frames {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.encoder()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all_at(bytes, self.position)?;
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

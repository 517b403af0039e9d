//! Reads partitions with Fetch 12 and drops the records inside the kernel: it looks at the headers of the batches only.

use std::io::{self, BufRead, BufReader, Read};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};

use crate::batches::HEADER_BYTES;
use crate::broker::Target;
use crate::wire::{connect, name, request};

const FETCH: (i16, i16) = (1, 12);
const PARTITION_BYTES_MAX: i32 = 1 << 20;
const BYTES_MAX: i32 = 50 << 20;
const WAIT_MS: i32 = 500;
/// Little, since what is buffered of records is copied for nothing.
const BUFFER_BYTES: usize = 1024;

/// A reader of all partitions of a topic.
pub(crate) struct Fetcher {
    stream: BufReader<TcpStream>,
    topic: String,
    next: Vec<i64>,
    /// Where in a batch eight bytes lie that are told with it.
    stamp_at: Option<usize>,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

impl Fetcher {
    pub(crate) fn open(address: &str, topic: &str, partitions: i32) -> io::Result<Self> {
        let stream = connect(address)?;
        Ok(Self {
            stream: BufReader::with_capacity(BUFFER_BYTES, stream),
            topic: topic.to_owned(),
            next: vec![0; partitions as usize],
            stamp_at: None,
            records: 0,
            bytes: 0,
        })
    }

    /// Tells the eight bytes at that place of each batch.
    pub(crate) fn with_stamp_at(mut self, place: usize) -> Self {
        self.stamp_at = Some(place);
        self
    }

    /// Asks once for all partitions and takes the answer; `batch` gets the stamp of each batch and its records.
    pub(crate) fn poll(&mut self, mut batch: impl FnMut(u64, u64)) -> io::Result<()> {
        let frame = self.request()?;
        io::Write::write_all(self.stream.get_mut(), &frame)?;
        // Length, correlation id, tags of the header; throttle time, error, session.
        self.array::<{ 4 + 4 + 1 + 4 }>()?;
        refuse(self.short()?)?;
        self.array::<4>()?;
        for _ in 0..self.length()? {
            let name = self.length()?;
            self.skip(name)?;
            for _ in 0..self.length()? {
                self.partition(&mut batch)?;
            }
            self.tags()?;
        }
        self.tags()
    }

    fn request(&self) -> io::Result<Vec<u8>> {
        let partitions = self.next.iter().zip(0..).map(|(next, partition)| {
            FetchPartition::default()
                .with_partition(partition)
                .with_fetch_offset(*next)
                .with_partition_max_bytes(PARTITION_BYTES_MAX)
        });
        let topic = FetchTopic::default()
            .with_topic(name(&self.topic))
            .with_partitions(partitions.collect());
        let body = FetchRequest::default()
            .with_max_wait_ms(WAIT_MS)
            .with_min_bytes(1)
            .with_max_bytes(BYTES_MAX)
            .with_session_epoch(-1)
            .with_topics(vec![topic]);
        request(FETCH, &body)
    }

    fn partition(&mut self, batch: &mut impl FnMut(u64, u64)) -> io::Result<()> {
        let index = u32::from_be_bytes(self.array()?) as usize;
        refuse(self.short()?)?;
        // High watermark, last stable offset, log start offset.
        self.array::<24>()?;
        // Aborted transactions: producer id, first offset, tags.
        for _ in 0..self.length()? {
            self.array::<16>()?;
            self.tags()?;
        }
        self.array::<4>()?;
        let mut left = self.length()?;
        while left >= HEADER_BYTES {
            left -= self.batch(index, left, batch)?;
        }
        self.skip(left)?;
        self.tags()
    }

    /// Takes one batch, or what there is of it; how many bytes.
    fn batch(
        &mut self,
        partition: usize,
        left: usize,
        batch: &mut impl FnMut(u64, u64),
    ) -> io::Result<usize> {
        let header: [u8; HEADER_BYTES] = self.array()?;
        let base = i64::from_be_bytes(field(&header, 0));
        let length = 12 + u32::from_be_bytes(field(&header, 8)) as usize;
        let last = i32::from_be_bytes(field(&header, 23));
        let records = u64::from(u32::from_be_bytes(field(&header, 57)));
        if length > left {
            // The last batch of an answer may be cut.
            self.skip(left - HEADER_BYTES)?;
            return Ok(left);
        }
        let mut taken = HEADER_BYTES;
        let mut stamp = 0;
        if let Some(place) = self.stamp_at {
            self.skip(place - taken)?;
            stamp = u64::from_be_bytes(self.array()?);
            taken = place + 8;
        }
        self.skip(length - taken)?;
        let next =
            self.next.get_mut(partition).ok_or_else(|| io::Error::other("no such partition"))?;
        *next = base + i64::from(last) + 1;
        self.records += records;
        self.bytes += length as u64;
        batch(stamp, records);
        Ok(length)
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn short(&mut self) -> io::Result<i16> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    /// A compact length; null counts as none.
    fn length(&mut self) -> io::Result<usize> {
        Ok(self.unsigned()?.saturating_sub(1))
    }

    fn tags(&mut self) -> io::Result<()> {
        for _ in 0..self.unsigned()? {
            self.unsigned()?;
            let size = self.unsigned()?;
            self.skip(size)?;
        }
        Ok(())
    }

    fn unsigned(&mut self) -> io::Result<usize> {
        let mut value = 0;
        for shift in (0..32).step_by(7) {
            let [byte] = self.array()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(value)
    }

    /// Drops bytes: those of the buffer, and the rest inside the kernel.
    fn skip(&mut self, mut bytes: usize) -> io::Result<()> {
        let buffered = self.stream.buffer().len().min(bytes);
        self.stream.consume(buffered);
        bytes -= buffered;
        while bytes > 0 {
            bytes -= drop_bytes(self.stream.get_ref(), bytes)?;
        }
        Ok(())
    }
}

/// Lets several readers read a whole topic of `records`, each for itself, within `limit`.
pub(crate) fn read_all(
    target: &Target,
    partitions: i32,
    readers: usize,
    records: u64,
    limit: Duration,
) -> io::Result<Vec<Fetcher>> {
    let end = Instant::now() + limit;
    let read = || {
        let mut fetcher = Fetcher::open(&target.address, &target.topic, partitions)?;
        while fetcher.records < records && Instant::now() < end {
            fetcher.poll(|_, _| ())?;
        }
        if fetcher.records == records {
            return Ok(fetcher);
        }
        let text = format!("{records} records acknowledged, {} read back", fetcher.records);
        Err(io::Error::other(text))
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..readers).map(|_| scope.spawn(read)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a reader does not panic")).collect()
    })
}

fn refuse(code: i16) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::other(format!("Fetch: error {code}"))) }
}

fn field<const N: usize>(header: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    header[at..at + N].try_into().expect("the places are constants within a header")
}

/// Linux drops bytes of a TCP stream that are received with `MSG_TRUNC` (tcp(7)).
fn drop_bytes(stream: &TcpStream, bytes: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC nothing is written to the buffer of a TCP socket, so it may be null.
    let dropped =
        unsafe { libc::recv(stream.as_raw_fd(), std::ptr::null_mut(), bytes, libc::MSG_TRUNC) };
    match dropped {
        1.. => Ok(dropped.unsigned_abs()),
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

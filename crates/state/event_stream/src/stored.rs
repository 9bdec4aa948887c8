//! A stream, the place of an event, and both as bytes. Layouts and keys are disk format (`docs/formats/events.md`).

use bytes::{Buf, BufMut, Bytes, BytesMut};
use daybook_command::ActualVersion;
use daybook_event::StreamSettings;
use daybook_types::{Offset, PartitionIndex, Position, StreamVersion};
use thiserror::Error;

const STREAM_FORMAT_VERSION: u8 = 1;

/// Number of a stream in its shard; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(pub u64);

/// Where an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub partition: PartitionIndex,
    pub offset: Offset,
    pub position: Position,
    /// `daybook_event::event_hash` of its id; 0 without one.
    pub id: u64,
}

/// What is known of a stream without its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    pub id: StreamId,
    /// Version of the next event.
    pub next: StreamVersion,
    /// Version of the first event since the stream was last written after a deletion.
    pub born: StreamVersion,
    pub settings: StreamSettings,
    pub is_tombstoned: bool,
    pub last: Option<Place>,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum StoredStreamError {
    #[error("the index of streams has a value of format version {found}, this program knows up to {known}")]
    NewerFormat { found: u8, known: u8 },
    #[error("the index of streams has a malformed value")]
    Malformed,
}

impl Stream {
    pub(crate) fn new(id: StreamId) -> Self {
        Self {
            id,
            next: StreamVersion(0),
            born: StreamVersion(0),
            settings: StreamSettings::default(),
            is_tombstoned: false,
            last: None,
        }
    }

    pub fn actual(&self) -> ActualVersion {
        let last = StreamVersion(self.next.0.saturating_sub(1));
        match (self.is_tombstoned, self.next.0) {
            (true, _) => ActualVersion::Tombstoned,
            (false, 0) => ActualVersion::None,
            _ if self.settings.is_deleted() => ActualVersion::SoftDeleted(last),
            _ => ActualVersion::At(last),
        }
    }

    /// First version that may be read: that of the next event if there is none. Age is not looked at.
    pub fn first(&self) -> StreamVersion {
        let kept = |count: u64| StreamVersion(self.next.0.saturating_sub(count));
        let truncated = self.settings.truncate_before.unwrap_or_default();
        let counted = self.settings.max_count.map(kept).unwrap_or_default();
        self.born.max(truncated).max(counted).min(self.next)
    }

    pub(crate) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(48);
        out.put_u8(STREAM_FORMAT_VERSION);
        let settings = &self.settings;
        let flags = u8::from(self.is_tombstoned)
            | u8::from(settings.truncate_before.is_some()) << 1
            | u8::from(settings.max_count.is_some()) << 2
            | u8::from(settings.max_age_seconds.is_some()) << 3
            | u8::from(self.last.is_some()) << 4;
        out.put_u8(flags);
        put_varint(&mut out, self.id.0);
        put_varint(&mut out, self.next.0);
        put_varint(&mut out, self.born.0);
        let truncated = settings.truncate_before.map(|version| version.0);
        for value in [truncated, settings.max_count, settings.max_age_seconds].into_iter().flatten() {
            put_varint(&mut out, value);
        }
        if let Some(last) = &self.last {
            put_place(&mut out, last, &Place::ORIGIN);
        }
        out.freeze()
    }

    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Self, StoredStreamError> {
        let from = &mut bytes;
        read_format(from, STREAM_FORMAT_VERSION)?;
        let flags = from.try_get_u8().map_err(|_| StoredStreamError::Malformed)?;
        let (id, next, born) = (varint(from)?, varint(from)?, varint(from)?);
        let mut optional = |bit: u8| (flags & bit != 0).then(|| varint(from)).transpose();
        let settings = StreamSettings {
            truncate_before: optional(2)?.map(StreamVersion),
            max_count: optional(4)?,
            max_age_seconds: optional(8)?,
        };
        let last = (flags & 16 != 0).then(|| place(from, &Place::ORIGIN)).transpose()?;
        if !from.is_empty() {
            return Err(StoredStreamError::Malformed);
        }
        let (next, born) = (StreamVersion(next), StreamVersion(born));
        Ok(Self { id: StreamId(id), next, born, settings, is_tombstoned: flags & 1 != 0, last })
    }
}

impl Place {
    /// From which the first place of a run counts.
    pub(crate) const ORIGIN: Self =
        Self { partition: PartitionIndex(0), offset: Offset(0), position: Position(0), id: 0 };
}

pub(crate) fn read_format(from: &mut &[u8], known: u8) -> Result<(), StoredStreamError> {
    match from.try_get_u8() {
        Ok(found) if found > known => Err(StoredStreamError::NewerFormat { found, known }),
        Ok(_) => Ok(()),
        Err(_) => Err(StoredStreamError::Malformed),
    }
}

/// A place as its distance from the one before: later ones have larger offsets and positions.
pub(crate) fn put_place(out: &mut BytesMut, place: &Place, before: &Place) {
    put_varint(out, u64::from(place.partition.0.unsigned_abs()));
    put_signed(out, place.offset.0 - before.offset.0);
    put_varint(out, place.position.0 - before.position.0);
    out.put_u64_le(place.id);
}

pub(crate) fn place(from: &mut &[u8], before: &Place) -> Result<Place, StoredStreamError> {
    let partition = i32::try_from(varint(from)?).map_err(|_| StoredStreamError::Malformed)?;
    let offset = before.offset.0.checked_add(signed(from)?).ok_or(StoredStreamError::Malformed)?;
    let position = before.position.0.checked_add(varint(from)?).ok_or(StoredStreamError::Malformed)?;
    let id = from.try_get_u64_le().map_err(|_| StoredStreamError::Malformed)?;
    Ok(Place { partition: PartitionIndex(partition), offset: Offset(offset), position: Position(position), id })
}

pub(crate) fn put_varint(out: &mut BytesMut, mut value: u64) {
    while value >= 0x80 {
        out.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

pub(crate) fn varint(from: &mut &[u8]) -> Result<u64, StoredStreamError> {
    let mut value = 0;
    for place in 0..10 {
        let byte = from.try_get_u8().map_err(|_| StoredStreamError::Malformed)?;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(StoredStreamError::Malformed)
}

/// Zigzag, for what may go back.
pub(crate) fn put_signed(out: &mut BytesMut, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

pub(crate) fn signed(from: &mut &[u8]) -> Result<i64, StoredStreamError> {
    let value = varint(from)?;
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}

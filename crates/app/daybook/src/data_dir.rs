//! The data directory: one process at a time, one node for ever, a format version that must be known.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;
use uuid::Uuid;

/// Version of everything below the data directory. A newer one is refused.
const FORMAT_VERSION: u32 = 1;

/// Directory of the node's one shard.
pub const SHARD_DIR: &str = "shard-0";

const NODE_FILE: &str = "node.toml";
const LOCK_FILE: &str = "lock";

/// A data directory that is ours while this lives.
#[derive(Debug)]
pub struct DataDir {
    pub path: PathBuf,
    pub node_id: u32,
    /// Kafka's cluster id: 22 characters of URL-safe base 64.
    pub cluster_id: String,
    _lock: File,
}

#[derive(Debug, Error)]
pub enum DataDirError {
    #[error("can't {verb} {}: {source}", path.display())]
    Io { verb: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "{} is in use by another daybook process{}; stop that one, or give this one another --data",
        path.display(),
        holder.as_ref().map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    InUse { path: PathBuf, holder: Option<String> },
    #[error(
        "{} has format version {found}, this program knows up to {FORMAT_VERSION}; run the version of daybook that wrote it, or a newer one",
        path.display()
    )]
    NewerFormat { path: PathBuf, found: i64 },
    #[error("{} belongs to node {found}, the configuration says node.id = {configured}", path.display())]
    OtherNode { path: PathBuf, found: i64, configured: u32 },
    #[error("{} is not a node file: {cause}; restore it from a backup", path.display())]
    Malformed { path: PathBuf, cause: String },
    #[error("{} holds files but no {NODE_FILE}: it is no data directory; give an empty one", path.display())]
    Foreign { path: PathBuf },
}

impl DataDir {
    /// Takes the directory for this process; makes it if it is missing. `node_id` is written at the first start and must
    /// be the same ever after.
    pub fn open(path: &Path, node_id: u32) -> Result<Self, DataDirError> {
        let fail = |verb, path: &Path| {
            let path = path.to_owned();
            move |source| DataDirError::Io { verb, path, source }
        };
        fs::create_dir_all(path).map_err(fail("create directory", path))?;
        let node_file = path.join(NODE_FILE);
        let is_new = !node_file.try_exists().map_err(fail("inspect", &node_file))?;
        if is_new && Self::holds_strange_files(path).map_err(fail("list", path))? {
            return Err(DataDirError::Foreign { path: path.to_owned() });
        }
        let lock = Self::lock(path)?;
        if is_new {
            let cluster_id = new_cluster_id();
            let text = format!(
                "# Written by daybook at the first start. Don't edit.\nformat_version = {FORMAT_VERSION}\nnode_id = {node_id}\ncluster_id = \"{cluster_id}\"\n"
            );
            write_durably(path, &node_file, &text).map_err(fail("write", &node_file))?;
            sync_name(path).map_err(fail("sync", path))?;
        }
        let text = fs::read_to_string(&node_file).map_err(fail("read", &node_file))?;
        let malformed = |cause: String| DataDirError::Malformed { path: node_file.clone(), cause };
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| malformed(error.message().to_owned()))?;
        let number = |key: &str| {
            table.get(key).and_then(toml::Value::as_integer).ok_or_else(|| malformed(format!("it has no number {key}")))
        };
        let found = number("format_version")?;
        if found > i64::from(FORMAT_VERSION) {
            return Err(DataDirError::NewerFormat { path: path.to_owned(), found });
        }
        let found = number("node_id")?;
        if found != i64::from(node_id) {
            return Err(DataDirError::OtherNode { path: path.to_owned(), found, configured: node_id });
        }
        let cluster_id = table
            .get("cluster_id")
            .and_then(toml::Value::as_str)
            .ok_or_else(|| malformed("it has no text cluster_id".to_owned()))?;
        Ok(Self { path: path.to_owned(), node_id, cluster_id: cluster_id.to_owned(), _lock: lock })
    }

    /// Takes a data directory that must be there already, for a look while it is not served.
    pub fn open_existing(path: &Path) -> Result<Self, DataDirError> {
        let node_file = path.join(NODE_FILE);
        let text = fs::read_to_string(&node_file).map_err(|source| DataDirError::Io {
            verb: "read",
            path: node_file.clone(),
            source,
        })?;
        let node_id = text
            .parse::<toml::Table>()
            .ok()
            .and_then(|table| table.get("node_id").and_then(toml::Value::as_integer))
            .and_then(|id| u32::try_from(id).ok())
            .ok_or_else(|| DataDirError::Malformed { path: node_file, cause: "it has no number node_id".to_owned() })?;
        Self::open(path, node_id)
    }

    fn lock(path: &Path) -> Result<File, DataDirError> {
        let lock_file = path.join(LOCK_FILE);
        let io = |source| DataDirError::Io { verb: "open", path: lock_file.clone(), source };
        let mut lock =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&lock_file).map_err(io)?;
        match lock.try_lock() {
            Ok(()) => {
                // Only for whoever finds the directory taken: the lock itself is the kernel's.
                let _ = lock.set_len(0).and_then(|()| write!(lock, "{}", std::process::id()));
                Ok(lock)
            }
            Err(TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(&lock_file).ok().filter(|pid| !pid.is_empty());
                Err(DataDirError::InUse { path: path.to_owned(), holder })
            }
            Err(TryLockError::Error(source)) => Err(DataDirError::Io { verb: "lock", path: lock_file, source }),
        }
    }

    fn holds_strange_files(path: &Path) -> io::Result<bool> {
        for entry in fs::read_dir(path)? {
            let name = entry?.file_name();
            // `lost+found` is what a fresh file system has; the others are of a first start that was cut short.
            let is_known = name
                .to_str()
                .is_some_and(|name| matches!(name, LOCK_FILE | "lost+found") || name.starts_with(NODE_FILE));
            if !is_known {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn write_durably(dir: &Path, path: &Path, text: &str) -> io::Result<()> {
    let temporary = path.with_extension("toml.new");
    let mut file = File::create(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    File::open(dir)?.sync_all()
}

/// The directory is there after a power cut only if the one above it is synced. That one may not be ours to open.
fn sync_name(dir: &Path) -> io::Result<()> {
    let above = fs::canonicalize(dir)?.parent().map(Path::to_owned);
    match above.map(File::open) {
        Some(Ok(above)) => above.sync_all(),
        Some(Err(error)) if error.kind() != io::ErrorKind::PermissionDenied => Err(error),
        _ => Ok(()),
    }
}

/// 128 random bits as Kafka writes them.
fn new_cluster_id() -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = Uuid::new_v4().as_u128();
    (0..22).map(|place| DIGITS[(bits >> (122_u32.saturating_sub(place * 6)) & 63) as usize] as char).collect()
}

//! The machine's own disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use crate::{Disk, DiskError, DiskFile, Verb};

/// Linux takes at most this many parts in one pwritev (`UIO_MAXIOV`).
const PARTS_PER_WRITE_MAX: usize = 1024;

/// Files below one directory of the real file system.
#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
}

#[derive(Debug)]
struct RealFile {
    file: File,
    path: PathBuf,
}

impl RealDisk {
    /// A disk rooted at `root`, which is made if it is missing.
    pub fn open(root: &Path) -> Result<Self, DiskError> {
        let disk = Self { root: root.to_owned() };
        disk.create_dir_all(Path::new(""))?;
        Ok(disk)
    }

    fn at(&self, path: &Path) -> PathBuf {
        if path.as_os_str().is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    fn file(&self, path: &Path, verb: Verb, options: &OpenOptions) -> Result<Arc<dyn DiskFile>, DiskError> {
        let path = self.at(path);
        let file = options.open(&path).map_err(|source| DiskError { verb, path: path.clone(), source })?;
        Ok(Arc::new(RealFile { file, path }))
    }
}

fn fail(verb: Verb, path: &Path) -> impl Fn(io::Error) -> DiskError + '_ {
    move |source| DiskError { verb, path: path.to_owned(), source }
}

impl Disk for RealDisk {
    fn create_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        let path = self.at(path);
        let mut missing = Vec::new();
        let mut ancestor = path.as_path();
        while !ancestor.as_os_str().is_empty() && !ancestor.exists() {
            missing.push(ancestor.to_owned());
            match ancestor.parent() {
                Some(parent) => ancestor = parent,
                None => break,
            }
        }
        fs::create_dir_all(&path).map_err(fail(Verb::CreateDir, &path))?;
        for made in missing {
            let parent = match made.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            File::open(parent).and_then(|dir| dir.sync_all()).map_err(fail(Verb::Sync, parent))?;
        }
        Ok(())
    }

    fn list(&self, path: &Path) -> Result<Vec<String>, DiskError> {
        let path = self.at(path);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(fail(Verb::List, &path)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(fail(Verb::List, &path))?;
            // A name that isn't Unicode isn't one of ours.
            if let Ok(name) = entry.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.file(path, Verb::Create, OpenOptions::new().read(true).write(true).create(true).truncate(true))
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, DiskError> {
        self.file(path, Verb::Open, OpenOptions::new().read(true).write(true))
    }

    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        let path = self.at(path);
        path.try_exists().map_err(fail(Verb::Inspect, &path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        let from = self.at(from);
        fs::rename(&from, self.at(to)).map_err(fail(Verb::Rename, &from))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        let path = self.at(path);
        fs::remove_file(&path).map_err(fail(Verb::Remove, &path))
    }

    fn remove_dir_all(&self, path: &Path) -> Result<(), DiskError> {
        let path = self.at(path);
        fs::remove_dir_all(&path).map_err(fail(Verb::Remove, &path))
    }

    fn sync_dir(&self, path: &Path) -> Result<(), DiskError> {
        let path = self.at(path);
        File::open(&path).and_then(|dir| dir.sync_all()).map_err(fail(Verb::Sync, &path))
    }

    fn bytes_free(&self) -> Result<u64, DiskError> {
        let stat = rustix::fs::statvfs(&self.root).map_err(|errno| fail(Verb::Inspect, &self.root)(errno.into()))?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

impl DiskFile for RealFile {
    fn write_all_at(&self, parts: &[IoSlice<'_>], at: u64) -> Result<(), DiskError> {
        let mut at = at;
        let mut window: Vec<IoSlice<'_>> = Vec::with_capacity(parts.len().min(PARTS_PER_WRITE_MAX));
        for chunk in parts.chunks(PARTS_PER_WRITE_MAX) {
            window.clear();
            window.extend(chunk.iter().filter(|part| !part.is_empty()).copied());
            let mut left = window.as_mut_slice();
            while !left.is_empty() {
                match rustix::io::pwritev(&self.file, left, at) {
                    Ok(0) => return Err(fail(Verb::Write, &self.path)(io::ErrorKind::WriteZero.into())),
                    Ok(written) => {
                        at += written as u64;
                        IoSlice::advance_slices(&mut left, written);
                    }
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(fail(Verb::Write, &self.path)(errno.into())),
                }
            }
        }
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> Result<usize, DiskError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], at + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(fail(Verb::Read, &self.path)(error)),
            }
        }
        Ok(filled)
    }

    fn sync_data(&self) -> Result<(), DiskError> {
        self.file.sync_data().map_err(fail(Verb::Sync, &self.path))
    }

    fn len(&self) -> Result<u64, DiskError> {
        Ok(self.file.metadata().map_err(fail(Verb::Inspect, &self.path))?.len())
    }

    fn set_len(&self, bytes: u64) -> Result<(), DiskError> {
        self.file.set_len(bytes).map_err(fail(Verb::Resize, &self.path))
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}

//! The files below a directory as events make them: what is there, and what a power loss leaves of it.

use crate::recorder::Event;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PAGE: usize = 4096;

/// The bytes of a file. Pages of zeros are none, for logs are long and mostly that.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Content {
    length: u64,
    pages: BTreeMap<u64, Arc<Vec<u8>>>,
}

impl Content {
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.length = self.length.max(offset + bytes.len() as u64);
        let mut at = 0;
        while at < bytes.len() {
            let (page, within) = ((offset as usize + at) / PAGE, (offset as usize + at) % PAGE);
            let part = &bytes[at..bytes.len().min(at + PAGE - within)];
            at += part.len();
            if self.pages.contains_key(&(page as u64)) || part.iter().any(|&byte| byte != 0) {
                let page = self.pages.entry(page as u64).or_insert_with(|| Arc::new(vec![0; PAGE]));
                Arc::make_mut(page)[within..within + part.len()].copy_from_slice(part);
            }
        }
    }

    fn set_length(&mut self, length: u64) {
        if length < self.length {
            self.pages.split_off(&length.div_ceil(PAGE as u64));
            if let Some(last) = self.pages.get_mut(&(length / PAGE as u64)) {
                Arc::make_mut(last)[length as usize % PAGE..].fill(0);
            }
        }
        self.pages.retain(|_, page| page.iter().any(|&byte| byte != 0));
        self.length = length;
    }
}

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Node {
    Directory,
    File(u64),
}

/// By file: what it holds, and what of it is durable.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    names: BTreeMap<PathBuf, Node>,
    durable_names: BTreeMap<PathBuf, Node>,
    files: BTreeMap<u64, (Content, Content)>,
}

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    /// It is killed: the system has everything.
    Killed,
    /// The power goes: what was not synced is lost.
    PowerLoss,
    /// The power goes, and the names had come to the disk before the bytes.
    NamesFirst,
}

/// A directory to be: by path, the bytes of a file, or none for a directory.
pub type Image = BTreeMap<PathBuf, Option<Content>>;

impl Disk {
    /// What lies below a directory, all of it durable, and the system's numbers of the files.
    pub fn read(root: &Path) -> (Self, Vec<(PathBuf, u64)>) {
        let (mut disk, mut files) = (Self::default(), Vec::new());
        let mut open = vec![PathBuf::new()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(root.join(&directory)).unwrap() {
                let entry = entry.unwrap();
                let path = directory.join(entry.file_name());
                if entry.file_type().unwrap().is_dir() {
                    disk.names.insert(path.clone(), Node::Directory);
                    open.push(path);
                    continue;
                }
                let mut content = Content::default();
                content.write(0, &fs::read(entry.path()).unwrap());
                let number = files.len() as u64;
                disk.files.insert(number, (content.clone(), content));
                disk.names.insert(path.clone(), Node::File(number));
                files.push((path, entry.metadata().unwrap().ino()));
            }
        }
        disk.durable_names = disk.names.clone();
        (disk, files)
    }

    /// Makes what has happened happen here.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Made { path, file } => {
                self.files.insert(*file, Default::default());
                self.names.insert(path.clone(), Node::File(*file));
            }
            Event::Directory { path } => {
                self.names.insert(path.clone(), Node::Directory);
            }
            Event::Renamed { from, to } => {
                let node = self.names.remove(from);
                let node = node.unwrap_or_else(|| panic!("{} was not there", from.display()));
                assert!(matches!(node, Node::File(_)), "directories keep their names");
                self.names.insert(to.clone(), node);
            }
            Event::Removed { path } => {
                assert!(self.names.remove(path).is_some(), "{} was not there", path.display());
            }
            Event::Written { file, offset, bytes } => self.now(*file).write(*offset, bytes),
            Event::Length { file, length, cuts } => {
                let now = self.now(*file);
                now.set_length(if *cuts { *length } else { now.length.max(*length) });
            }
            Event::Synced { file } => {
                let (now, durable) = self.files.get_mut(file).unwrap();
                *durable = now.clone();
            }
            Event::NamesSynced { directory } => {
                let of = |path: &Path| path.parent() == Some(directory);
                self.durable_names.retain(|path, _| !of(path));
                let names = self.names.iter().filter(|(path, _)| of(path));
                self.durable_names.extend(names.map(|(path, node)| (path.clone(), *node)));
            }
            Event::Began(_) | Event::Ended(_) => {}
        }
    }

    fn now(&mut self, file: u64) -> &mut Content {
        &mut self.files.get_mut(&file).unwrap().0
    }

    /// What is left if the process ends now.
    pub fn image(&self, end: End) -> Image {
        let names = if end == End::PowerLoss { &self.durable_names } else { &self.names };
        let mut image = Image::new();
        for (path, node) in names {
            let above = path.parent().filter(|parent| *parent != Path::new(""));
            // What lies in a directory whose own name is lost is lost with it. Ascending: that has been here.
            if above.is_some_and(|above| image.get(above) != Some(&None)) {
                continue;
            }
            let content = |file| match (end, &self.files[file]) {
                (End::Killed, (now, _)) => now.clone(),
                (_, (_, durable)) => durable.clone(),
            };
            let bytes = match node {
                Node::Directory => None,
                Node::File(file) => Some(content(file)),
            };
            image.insert(path.clone(), bytes);
        }
        image
    }
}

/// Makes an image a directory.
pub fn write(image: &Image, root: &Path) {
    fs::create_dir(root).unwrap();
    for (path, content) in image {
        let Some(content) = content else {
            fs::create_dir(root.join(path)).unwrap();
            continue;
        };
        let file = File::create(root.join(path)).unwrap();
        file.set_len(content.length).unwrap();
        for (page, bytes) in &content.pages {
            let offset = page * PAGE as u64;
            let length = bytes.len().min((content.length - offset) as usize);
            file.write_all_at(&bytes[..length], offset).unwrap();
        }
    }
}

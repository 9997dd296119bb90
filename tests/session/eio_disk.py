"""A file system that fails: FUSE over a folder. Once the file FOLDER.broken has words (read, write, fsync, make), each such operation ends by
EIO, as from a disk that is gone. Usage: eio_disk.py FOLDER MOUNT. Ends when it is unmounted."""
import errno
import os
import sys

import fusepy

sys.path.pop(0)


class Broken(fusepy.Operations):
    def __init__(self, folder):
        self.folder, self.said = folder, folder + ".broken"

    def full(self, path):
        return self.folder + path

    def fails(self, word):
        try:
            with open(self.said, encoding="utf-8") as f:
                words = f.read().split()
        except OSError:
            return
        if word in words:
            raise fusepy.FuseOSError(errno.EIO)

    def access(self, path, mode):
        if not os.access(self.full(path), mode):
            raise fusepy.FuseOSError(errno.EACCES)

    def getattr(self, path, fh=None):
        st = os.lstat(self.full(path))
        return {key: getattr(st, key) for key in ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid", "st_blocks", "st_ino")}

    def readdir(self, path, fh):
        self.fails("read")
        return [".", ".."] + os.listdir(self.full(path))

    def statfs(self, path):
        st = os.statvfs(self.full(path))
        return {key: getattr(st, key) for key in ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_flag", "f_frsize", "f_namemax")}

    def readlink(self, path):
        return os.readlink(self.full(path))

    def chmod(self, path, mode):
        self.fails("make")
        os.chmod(self.full(path), mode)

    def chown(self, path, uid, gid):
        os.chown(self.full(path), uid, gid)

    def utimens(self, path, times=None):
        os.utime(self.full(path), times)

    def mkdir(self, path, mode):
        self.fails("make")
        os.mkdir(self.full(path), mode)

    def rmdir(self, path):
        self.fails("make")
        os.rmdir(self.full(path))

    def unlink(self, path):
        self.fails("make")
        os.unlink(self.full(path))

    def rename(self, old, new):
        self.fails("make")
        os.rename(self.full(old), self.full(new))

    def link(self, target, source):
        self.fails("make")
        os.link(self.full(source), self.full(target))

    def symlink(self, target, source):
        self.fails("make")
        os.symlink(source, self.full(target))

    def mknod(self, path, mode, dev):
        self.fails("make")
        os.mknod(self.full(path), mode, dev)

    def create(self, path, mode, fi=None):
        self.fails("make")
        return os.open(self.full(path), os.O_RDWR | os.O_CREAT | os.O_TRUNC, mode)

    def open(self, path, flags):
        return os.open(self.full(path), os.O_RDONLY if flags & 3 == os.O_RDONLY else os.O_RDWR)

    def read(self, path, size, offset, fh):
        self.fails("read")
        return os.pread(fh, size, offset)

    def write(self, path, data, offset, fh):
        self.fails("write")
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        self.fails("write")
        os.truncate(self.full(path), length)

    def fsync(self, path, datasync, fh):
        self.fails("fsync")
        os.fsync(fh)

    def fsyncdir(self, path, datasync, fh):
        self.fails("fsync")

    def release(self, path, fh):
        os.close(fh)


if __name__ == "__main__":
    fusepy.FUSE(Broken(sys.argv[1]), sys.argv[2], foreground=True, nothreads=False, fsname="podprof-eio", big_writes=True, max_write=131072)

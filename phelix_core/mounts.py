"""What kind of file system a folder is on: some tell nobody of changes, and SQLite cannot share a file on them."""

import os

_REMOTE = frozenset(
    "9p afs beegfs ceph cifs davfs drvfs gfs2 glusterfs gpfs lustre nfs nfs4 ocfs2 prl_fs smb2 smb3 "  # noqa: SIM905
    "smbfs vboxsf virtiofs vmhgfs".split()
)


def remote_kind(folder: str, mounts: str = "/proc/self/mounts") -> str | None:
    """Type of the file system under `folder` if changes there may come without events; else None.

    Any FUSE file system counts, since it alone knows what is behind it. Where there is no table of
    mounts (macOS) the answer is None; the second layer still sees what others change.
    """
    path = os.path.realpath(folder)
    longest, kind = "", None
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as table:
            for line in table:
                fields = line.split(" ")
                point = fields[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
                inside = path == point or path.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(longest):
                    longest, kind = point, fields[2]
    except (OSError, IndexError):
        return None
    return kind if kind is not None and (kind in _REMOTE or kind.startswith("fuse.")) else None

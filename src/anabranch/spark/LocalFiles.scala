package anabranch

import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/** Hadoop's local file system, as it is but for this: it sets permissions by a call.
  *
  * Hadoop starts a `chmod` process for every file that it creates, and one more for the file's checksum: eight in a batch with
  * state.
  */
final class LocalFiles extends LocalFileSystem(new RawLocalFiles)

final class RawLocalFiles extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit =
    // Java has no name for the sticky bit.
    if (permission.getStickyBit) super.setPermission(path, permission)
    else {
      val letters = permission.getUserAction.SYMBOL + permission.getGroupAction.SYMBOL + permission.getOtherAction.SYMBOL
      Files.setPosixFilePermissions(pathToFile(path).toPath, PosixFilePermissions.fromString(letters))
      ()
    }
}

// Copies the checkout for tests that add files to it.

import { spawnSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** The paths that Pawl's processes and generators read. */
const PARTS = ['activities', 'workflows', 'worker', 'migrations', 'deploy', 'package.json']

export class Checkout {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  static async copy(): Promise<Checkout> {
    const folder = await mkdtemp(join(tmpdir(), 'pawl-checkout-'))
    for (const part of PARTS) await cp(join(ROOT, part), join(folder, part), { recursive: true })
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir')
    return new Checkout(folder)
  }

  /** Writes new files. @throws if a file exists. */
  async add(files: ReadonlyMap<string, string>): Promise<void> {
    for (const [path, text] of files) {
      await mkdir(dirname(join(this.folder, path)), { recursive: true })
      await writeFile(join(this.folder, path), text.trimStart(), { flag: 'wx' })
    }
  }

  /** Runs a `pawl` command in the copy. @throws Error with the command's output if the command fails. */
  pawl(...args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['worker/pawl.js', ...args], {
      cwd: this.folder,
      encoding: 'utf8',
      timeout: 60_000,
    })
    if (status !== 0) throw new Error(`pawl ${args.join(' ')} ended with ${status}: ${stdout}${stderr}`)
    return stdout
  }

  /** The files of the original that were changed or deleted in the copy. */
  async changed(): Promise<readonly string[]> {
    const changed: string[] = []
    for (const part of PARTS) {
      for (const path of await filesIn(part)) {
        const [before, after] = await Promise.all([read(join(ROOT, path)), read(join(this.folder, path))])
        if (before !== after) changed.push(path)
      }
    }
    return changed.sort()
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true })
  }
}

/** The files in a part of the original, as paths relative to the root. */
async function filesIn(part: string): Promise<readonly string[]> {
  if (part.includes('.')) return [part]
  const entries = await readdir(join(ROOT, part), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(ROOT.length))
}

async function read(path: string): Promise<string | undefined> {
  return await readFile(path, 'latin1').catch(() => undefined)
}

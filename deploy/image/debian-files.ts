// Reads Debian packages into the file tree of an image, without dpkg.
//
// P1. A package whose SHA-256 differs from its pin is refused.
// P2. Folders of the merged /usr, such as /lib, are links into /usr, as on Debian.
// P3. No program has the setuid or setgid bit.
// P4. Scanners find each package in /var/lib/dpkg/status.d, and its licence in /usr/share/doc/NAME/copyright.

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { extract, type Header } from 'tar-stream'
import { readConfig } from '../../worker/server/config.ts'
import type { BasePackage } from './base-packages.ts'
import { addFile, digestOf, type FileTree, type TreeEntry } from './file-tree.ts'
import { unxz } from './unxz.ts'
import { PROGRAMS } from './variants.ts'

const MERGED = ['bin', 'sbin', 'lib', 'lib64'] as const
/** Files that no program of the image reads. Licences stay. */
const LEFT_OUT =
  /^usr\/(?:share\/(?:man|info|locale|lintian|bug|bash-completion|doc-base|doc\/[^/]+\/(?!copyright$)|zoneinfo\/(?:posix|right)\/)|lib\/[^/]+\/gconv\/|lib\/init\/|games\/)/
/** `sh` and `iptables` are links to these programs, which Debian creates when it installs the packages. */
const PROGRAM_FILES = [...PROGRAMS, 'dash', 'xtables-nft-multi', 'xtables-legacy-multi']
const PROGRAM_FOLDER = /^usr\/s?bin\//
const AUTHORITIES = /^usr\/share\/ca-certificates\/.*\.crt$/
/** P3: permissions and the sticky bit. */
const FREE_MODE = 0o1777
const AR_HEADER = 60
const AR_START = 8

/** Adds the files of the packages to the tree. */
export async function addPackages(tree: FileTree, packages: readonly BasePackage[], snapshot: string): Promise<void> {
  for (const name of MERGED) tree.set(name, { type: 'symlink', target: `usr/${name}` })
  for (const one of packages) {
    const members = arMembers(await obtain(one, snapshot))
    await addArchive(tree, await unpacked(members, 'data.tar'))
    const control: FileTree = new Map()
    await addArchive(control, await unpacked(members, 'control.tar'))
    const text = control.get('control')
    if (text?.type === 'file') addFile(tree, `var/lib/dpkg/status.d/${one.name}`, text.content.toString())
  }
  joinAuthorities(tree)
  for (const [link, target] of [['iptables', 'xtables-nft-multi'], ['iptables-restore', 'xtables-nft-multi']] as const)
    if (tree.has(`usr/sbin/${target}`)) tree.set(`usr/sbin/${link}`, { type: 'symlink', target })
  if (tree.has('usr/bin/dash')) tree.set('usr/bin/sh', { type: 'symlink', target: 'dash' })
}

/** The file of the package: from the cache, Debian's mirror, or the snapshot of the day on which it was pinned. */
async function obtain({ name, version, url, sha256 }: BasePackage, snapshot: string): Promise<Buffer> {
  const folder = join(readConfig().cacheDir, 'debian')
  const cached = join(folder, `${sha256}.deb`)
  const known = await readFile(cached).catch(() => undefined)
  if (known !== undefined && digestOf(known) === `sha256:${sha256}`) return known
  const old = url.replace('https://deb.debian.org/', 'https://snapshot.debian.org/archive/').replace('/pool/', `/${snapshot}/pool/`)
  const problems: string[] = []
  for (const source of [url, old]) {
    const bytes = await fetchBytes(source).catch((error: unknown) => void problems.push(`${source}: ${String(error)}`))
    if (bytes === undefined) continue
    const found = digestOf(bytes)
    if (found !== `sha256:${sha256}`) throw new Error(`${source}: found digest ${found}; expected sha256:${sha256}`)
    await mkdir(folder, { recursive: true })
    await writeFile(`${cached}.${process.pid}`, bytes)
    await rename(`${cached}.${process.pid}`, cached)
    return bytes
  }
  throw new Error(`Debian package ${name} ${version}: no download; ${problems.join('; ')}`)
}

async function fetchBytes(url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(60_000) })
  if (!response.ok) throw new Error(`HTTP ${response.status}`)
  return Buffer.from(await response.arrayBuffer())
}

/** The members of an `ar` archive, by name. */
function arMembers(bytes: Buffer): ReadonlyMap<string, Buffer> {
  const members = new Map<string, Buffer>()
  for (let at = AR_START; at + AR_HEADER <= bytes.length; ) {
    const field = (from: number, to: number) => bytes.toString('latin1', at + from, at + to).trim()
    const size = Number(field(48, 58))
    members.set(field(0, 16).replace(/\/$/, ''), bytes.subarray(at + AR_HEADER, at + AR_HEADER + size))
    // Members start at even offsets.
    at += AR_HEADER + size + (size % 2)
  }
  return members
}

async function unpacked(members: ReadonlyMap<string, Buffer>, name: string): Promise<Buffer> {
  const member = members.get(`${name}.xz`)
  if (member === undefined) throw new Error(`Debian package: found ${[...members.keys()].join(', ')}; expected ${name}.xz`)
  return await unxz(member)
}

async function addArchive(tree: FileTree, tar: Buffer): Promise<void> {
  const reader = extract()
  reader.end(tar)
  for await (const entry of reader) {
    const chunks: Buffer[] = []
    for await (const chunk of entry) chunks.push(chunk as Buffer)
    const path = mergedPath(entry.header.name)
    const made = isNeeded(path) ? entryOf(entry.header, Buffer.concat(chunks), tree) : undefined
    if (made !== undefined) tree.set(path, made)
  }
}

function isNeeded(path: string): boolean {
  const isMerged = MERGED.includes(path as 'bin')
  return path !== '' && !isMerged && !LEFT_OUT.test(path) && (!PROGRAM_FOLDER.test(path) || PROGRAM_FILES.includes(posix.basename(path)))
}

function entryOf({ type, mode, linkname }: Header, content: Buffer, tree: FileTree): TreeEntry | undefined {
  if (type === 'directory') return { type, mode: mode & FREE_MODE }
  if (type === 'file') return { type, mode: mode & FREE_MODE, content }
  if (type === 'symlink') return { type, target: mergedTarget(linkname) }
  return type === 'link' ? tree.get(mergedPath(linkname)) : undefined
}

/** Without `./`, a slash at the end, and with /lib in /usr/lib. */
function mergedPath(name: string): string {
  const path = posix.normalize(name).replace(/^\/+|\/+$/g, '')
  if (path === '.') return ''
  const [first = ''] = path.split('/', 1)
  return MERGED.includes(first as 'bin') ? `usr/${path}` : path
}

function mergedTarget(target: string): string {
  return target.startsWith('/') ? `/${mergedPath(target)}` : target
}

/** Writes the certificates of public authorities into one file, which Temporal's library reads. Node contains its own list. */
function joinAuthorities(tree: FileTree): void {
  const files = [...tree].filter(([path]) => AUTHORITIES.test(path)).sort(([a], [b]) => (a < b ? -1 : 1))
  const texts = files.flatMap(([, entry]) => (entry.type === 'file' ? [entry.content.toString()] : []))
  if (texts.length > 0) addFile(tree, 'etc/ssl/certs/ca-certificates.crt', texts.join(''))
}

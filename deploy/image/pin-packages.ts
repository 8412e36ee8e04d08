// Pins the Debian packages of the image: `node deploy/image/pin-packages.ts` writes base-packages.json.
//
// Takes the newest version of each package in ROOTS and of its dependencies, from Debian's main and security archives.
// Run it to take security updates into the image; the file is the only place with versions.

import { writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

import { unxz } from './unxz.ts'
import { ARCHITECTURES, type BasePackage, type BasePackages, BASE_FILE } from './base-packages.ts'

const INDEXES = [
  ['https://deb.debian.org/debian', 'bookworm'],
  ['https://deb.debian.org/debian-security', 'bookworm-security'],
] as const
/** `runtime`: what Node and the native modules load, and the certificates of public authorities. */
const ROOTS = {
  runtime: ['libc6', 'libstdc++6', 'ca-certificates', 'base-files', 'tzdata'],
  tools: ['iproute2', 'iptables', 'util-linux', 'coreutils', 'dash'],
}
/** Packages that only the installation with dpkg needs, or parts of util-linux that the injector does not use. */
const LEFT_OUT = new Set([
  ...['debconf', 'openssl', 'dpkg', 'awk', 'mawk', 'libdebconfclient0', 'util-linux-extra', 'debianutils'],
  ...['libpam0g', 'libsystemd0', 'libudev1', 'libtinfo6', 'libblkid1', 'libmount1', 'libsmartcols1', 'libuuid1'],
])

type Stanza = Readonly<Record<string, string>> & { readonly archive: string }

const snapshot = `${new Date().toISOString().replace(/[-:]|\..*/g, '')}Z`
const pinned: BasePackages = { snapshot, runtime: {}, tools: {} }
for (const architecture of ARCHITECTURES) {
  const stanzas = await newestStanzas(architecture)
  const runtime = closure(ROOTS.runtime, stanzas)
  const tools = closure(ROOTS.tools, stanzas).filter(({ name }) => !runtime.some((one) => one.name === name))
  pinned.runtime[architecture] = runtime
  pinned.tools[architecture] = tools
}
writeFileSync(BASE_FILE, `${JSON.stringify(pinned, null, 2)}\n`)

async function newestStanzas(architecture: string): Promise<ReadonlyMap<string, Stanza>> {
  const stanzas = new Map<string, Stanza>()
  const indexes = await Promise.all(INDEXES.map(async ([archive, suite]) => await readIndex(archive, suite, architecture)))
  for (const stanza of indexes.flat()) {
    const { Package: name = '', Version: version = '' } = stanza
    const known = stanzas.get(name)?.['Version']
    if (known === undefined || compareVersions(version, known) > 0) stanzas.set(name, stanza)
  }
  return stanzas
}

async function readIndex(archive: string, suite: string, architecture: string): Promise<readonly Stanza[]> {
  const url = `${archive}/dists/${suite}/main/binary-${architecture}/Packages`
  for (const [end, unpack] of [['.gz', gunzipSync], ['.xz', undefined]] as const) {
    const response = await fetch(url + end)
    if (!response.ok) continue
    const bytes = Buffer.from(await response.arrayBuffer())
    const text = unpack === undefined ? (await unxz(bytes)).toString() : unpack(bytes).toString()
    return text.split('\n\n').filter(Boolean).map((block) => readStanza(block, archive))
  }
  throw new Error(`${url}: not found as .gz or .xz`)
}

function readStanza(block: string, archive: string): Stanza {
  const fields = [...block.matchAll(/^(\S+): (.*)$/gm)].map(([, name = '', value = '']) => [name, value] as const)
  return { ...Object.fromEntries(fields), archive }
}

/** The packages and, transitively, the first alternative of each dependency. Sorted by name. */
function closure(roots: readonly string[], stanzas: ReadonlyMap<string, Stanza>): readonly BasePackage[] {
  const found = new Map<string, BasePackage>()
  const queue = [...roots]
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (found.has(name) || LEFT_OUT.has(name)) continue
    const stanza = stanzas.get(name)
    if (stanza === undefined) throw new Error(`package '${name}' is missing in Debian's indexes`)
    const { Version: version = '', Filename: path = '', SHA256: sha256 = '', archive } = stanza
    found.set(name, { name, version, url: `${archive}/${path}`, sha256 })
    const needed = [stanza['Pre-Depends'], stanza['Depends']].filter((text) => text !== undefined).join(', ')
    for (const dependency of needed.split(',')) {
      const [first = ''] = dependency.trim().split(/[\s|(:]/, 1)
      if (first !== '') queue.push(first)
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Debian's order of versions: `~` sorts before the end, the end before letters, letters before other characters. */
function compareVersions(a: string, b: string): number {
  const [left = [], right = []] = [a, b].map((text) => (text.includes(':') ? text : `0:${text}`).match(/\d+|\D/g) ?? [])
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const parts = [left[at], right[at]]
    const areNumbers = parts.every((part) => part === undefined || /\d/.test(part))
    const [one = 0, other = 0] = parts.map((part) => (areNumbers ? Number(part ?? 0) : rankOf(part)))
    if (one !== other) return one - other
  }
  return 0
}

function rankOf(part: string | undefined): number {
  if (part === undefined || /\d/.test(part)) return 0
  if (part === '~') return -1
  return part.charCodeAt(0) + (/[a-z]/i.test(part) ? 0 : 256)
}

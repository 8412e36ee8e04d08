// Finds or builds the server binaries: from the environment, PATH, the cache, a release download, or go build, in this
// order.
//
//   B1. A path that the user names is used or refused, never replaced silently.
//   B2. The final error lists every failed source with its reason.

import { access, constants, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { type Config, childEnvironment } from '../server/config.ts'
import { addToCache, cachePath, findCached, findMisfit } from './cache.ts'
import { download } from './download.ts'
import { withLock } from './lock.ts'
import { readPins, type BinaryName, type Pin, type Pins, BINARIES_DIR } from './pins.ts'

export type Binaries = Readonly<Record<BinaryName, string>>
export type Progress = (line: string) => void

const BUILD_NEWS_MS = 30_000

/** The binaries that `KUBEBUILDER_ASSETS` contains by convention. */
const ASSETS: readonly BinaryName[] = ['etcd', 'kube-apiserver', 'kubectl']

export interface ObtainOptions {
  readonly config: Config
  readonly progress: Progress
  readonly pins?: Pins
}

/**
 * Returns the paths of all named binaries.
 *
 * @throws BinaryMissingError that lists the failed sources.
 */
export async function obtainBinaries<Name extends BinaryName>(
  names: readonly Name[],
  options: ObtainOptions,
): Promise<Readonly<Record<Name, string>>> {
  const found: Partial<Record<Name, string>> = {}
  // One after another: two parallel Go builds need twice the memory and are not faster.
  for (const name of names) found[name] = await obtainBinary(name, options)
  return found as Record<Name, string>
}

async function obtainBinary(name: BinaryName, options: ObtainOptions): Promise<string> {
  const { config, progress } = options
  const pin = (options.pins ?? readPins())[name]
  const tried: string[] = []

  const own = (await fromEnvironment(name, pin, config, tried)) ?? (await fromSearchPath(name, pin, config, tried))
  if (own !== undefined) return own

  const cached = await findCached(config.cacheDir, name, pin)
  if (cached !== undefined) return cached
  tried.push(`cache: no ${cachePath(config.cacheDir, name, pin)}`)

  const lock = join(config.cacheDir, 'locks', `${name}-${pin.version}.lock`)
  const onWait = (pid: number | undefined) =>
    progress(`${name} ${pin.version}: waiting for process ${pid ?? '?'}, which is getting it`)
  return withLock(
    lock,
    async () => (await findCached(config.cacheDir, name, pin)) ?? (await make(name, pin, options, tried)),
    { onWait },
  )
}

async function make(name: BinaryName, pin: Pin, options: ObtainOptions, tried: string[]): Promise<string> {
  const { config, progress } = options
  const target = { cacheDir: config.cacheDir, name, pin }

  if (config.mayDownload) {
    progress(`${name} ${pin.version}: downloading`)
    let shown = 0
    const onProgress = (percent: number) => {
      if (percent < shown + 25) return
      shown = percent
      progress(`${name} ${pin.version}: downloaded ${percent} %`)
    }
    try {
      return await addToCache(target, 'download', (path) => download(pin, path, onProgress))
    } catch (error) {
      tried.push(`download: ${reason(error)}`)
      progress(`${name} ${pin.version}: no download (${reason(error)})`)
    }
  } else {
    tried.push('download: disabled by PAWL_OFFLINE')
  }

  progress(`${name} ${pin.version}: building with Go; the first build takes minutes`)
  const started = Date.now()
  const elapsed = () => `${Math.round((Date.now() - started) / 1000)} s`
  const timer = setInterval(() => progress(`${name} ${pin.version}: still building after ${elapsed()}`), BUILD_NEWS_MS)
  try {
    const path = await addToCache(target, 'go build', (to) => build(pin, to, config.searchPath))
    progress(`${name} ${pin.version}: built in ${elapsed()}`)
    return path
  } catch (error) {
    tried.push(`go build: ${reason(error)}`)
  } finally {
    clearInterval(timer)
  }
  throw new BinaryMissingError(name, pin, tried)
}

async function fromEnvironment(
  name: BinaryName,
  pin: Pin,
  config: Config,
  tried: string[],
): Promise<string | undefined> {
  const named = config.binaries.get(name)
  const variable = named?.variable ?? 'KUBEBUILDER_ASSETS'
  const path =
    named?.path ?? (config.assetsDir !== undefined && ASSETS.includes(name) ? join(config.assetsDir, name) : undefined)
  if (path === undefined) {
    tried.push(`environment: neither PAWL_${name.toUpperCase().replaceAll('-', '_')} nor a fitting KUBEBUILDER_ASSETS`)
    return undefined
  }
  const problem = (await isExecutable(path)) ? await findMisfit(path, pin) : 'is not an executable file'
  if (problem === undefined) return path
  // B1
  throw new BinaryMissingError(name, pin, [`${variable}: ${path} ${problem}`])
}

async function fromSearchPath(
  name: BinaryName,
  pin: Pin,
  config: Config,
  tried: string[],
): Promise<string | undefined> {
  for (const dir of config.searchPath) {
    const path = join(dir, name)
    if (!(await isExecutable(path))) continue
    const problem = await findMisfit(path, pin)
    // The path may be a link from the data folder of a previous start, which this start recreates.
    if (problem === undefined) return await realpath(path)
    tried.push(`PATH: ${path} ${problem}`)
    return undefined
  }
  tried.push('PATH: not there')
  return undefined
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

class BinaryMissingError extends Error {
  readonly binary: BinaryName
  readonly tried: readonly string[]

  constructor(binary: BinaryName, pin: Pin, tried: readonly string[]) {
    const ways = tried.map((way) => `\n  - ${way}`).join('')
    const variable = `PAWL_${binary.toUpperCase().replaceAll('-', '_')}`
    super(
      `${binary} ${pin.version} is not available; tried:${ways}\n` +
        `set ${variable} to the path of a ${pin.version} binary, add the binary to PATH, allow downloads, or install Go`,
    )
    this.binary = binary
    this.tried = tried
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * Builds the binary from its pinned Go module in deploy/binaries/ with the `go` on the search path, where no release
 * can be downloaded.
 *
 * @throws an Error if Go is missing or too old, or with the end of the build's output.
 */
export async function build(pin: Pin, path: string, searchPath: readonly string[]): Promise<void> {
  const go = goIn(fileURLToPath(new URL(`${pin.go.module}/`, BINARIES_DIR)), searchPath)
  await checkGo(go)
  const ldflags = `-s -w ${pin.go.ldflags ?? ''}`.trim()
  // -mod=readonly does not change the checkout. No VCS stamp: the checkout's commit does not describe these programs.
  const flags = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags', ldflags]
  await go(['build', ...flags, '-o', path, pin.go.package])
}

type Go = (args: readonly string[]) => Promise<void>

async function checkGo(go: Go): Promise<void> {
  try {
    // Inside the module, the go command checks the version in go.mod, or downloads the toolchain if allowed.
    await go(['version'])
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') throw new Error('go is not installed')
    throw error
  }
}

function goIn(dir: string, searchPath: readonly string[]): Go {
  const env = childEnvironment({ PATH: searchPath.join(':'), CGO_ENABLED: '0', GOFLAGS: '' })
  return (args) =>
    new Promise((resolve, reject) => {
      const child = spawn('go', args, { cwd: dir, env, stdio: ['ignore', 'ignore', 'pipe'] })
      // Stops the compiler if pawl is interrupted.
      const kill = () => child.kill()
      process.once('exit', kill)
      let tail = ''
      child.stderr.on('data', (chunk: Buffer) => (tail = (tail + chunk.toString()).slice(-2000)))
      child.once('error', reject)
      child.once('close', (code) => {
        process.off('exit', kill)
        if (code === 0) resolve()
        else reject(new Error(`go ${args[0] ?? ''} in ${dir} ended with ${code ?? 'a signal'}: ${lastLines(tail)}`))
      })
    })
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-3).join('; ')
}

// Downloads the official release of a server binary and checks its digest.
//
// envtest-js is not used, because its index contains only etcd, kube-apiserver and kubectl, in other versions. All
// Kubernetes programs must have one version.
//
//   D1. An artefact without a published digest is refused.
//   D2. An unreachable host is reported within seconds, and a stalled transfer is aborted.

import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

import { digest } from './cache.ts'
import { forPlatform, platform, type Pin } from './pins.ts'

const run = promisify(execFile)

const CONNECT_LIMIT_MS = 5000
const STALL_LIMIT_MS = 30_000

/**
 * Writes the released binary to `path`.
 *
 * @throws when there is no release for this platform, the host cannot be reached, or the digest is missing or differs.
 */
export async function download(
  pin: Pick<Pin, 'download'>,
  path: string,
  onProgress: (percent: number) => void,
): Promise<void> {
  const { key } = platform()
  if (!pin.download.platforms.includes(key))
    throw new Error(`no release for ${key}; expected one of ${pin.download.platforms.join(', ')}`)

  const url = forPlatform(pin.download.url)
  const expected = pin.download.digests?.[key] ?? (await publishedDigest(pin, basename(new URL(url).pathname)))
  const work = await mkdtemp(join(dirname(path), 'download-'))
  try {
    const artefact = join(work, 'artefact')
    await transfer(url, artefact, onProgress)
    const found = await digest(artefact, pin.download.checksums.algorithm)
    if (found !== expected) throw new Error(`${url}: found digest ${found}; expected ${expected}`)

    const { member } = pin.download
    if (member !== undefined) await run('tar', ['-xzf', artefact, '-C', work, forPlatform(member)])
    await rename(member === undefined ? artefact : join(work, forPlatform(member)), path)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

async function publishedDigest(pin: Pick<Pin, 'download'>, file: string): Promise<string> {
  const { kind, algorithm, url } = pin.download.checksums
  const text = await (await request(forPlatform(url), AbortSignal.timeout(STALL_LIMIT_MS))).text()
  let found: string | undefined
  if (kind === 'bare') found = text.trim().split(/\s/, 1)[0]
  else found = kind === 'list' ? fromList(text, file) : fromRelease(text, file, algorithm)
  const length = algorithm === 'sha256' ? 64 : 128
  if (found?.length !== length || /[^0-9a-f]/.test(found)) {
    throw new Error(`${forPlatform(url)} has no ${algorithm} digest of ${file}`)
  }
  return found
}

function fromList(text: string, file: string): string | undefined {
  const line = text.split('\n').find((entry) => entry.trim().replace('*', ' ').endsWith(` ${file}`))
  return line?.trim().split(/\s/, 1)[0]
}

function fromRelease(text: string, file: string, algorithm: string): string | undefined {
  const release = JSON.parse(text) as { assets?: readonly { name: string; digest?: string | null }[] }
  const stated = release.assets?.find(({ name }) => name === file)?.digest
  return stated?.startsWith(`${algorithm}:`) ? stated.slice(algorithm.length + 1) : undefined
}

async function transfer(url: string, path: string, onProgress: (percent: number) => void): Promise<void> {
  const stalled = new AbortController()
  const response = await request(url, stalled.signal)
  if (response.body === null) throw new Error(`${url} has no content`)

  const total = Number(response.headers.get('content-length') ?? 0)
  let received = 0
  const timer = setTimeout(
    () => stalled.abort(new Error(`${url} sent nothing for ${STALL_LIMIT_MS / 1000} s`)),
    STALL_LIMIT_MS,
  )
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length
      timer.refresh()
      if (total > 0) onProgress(Math.floor((100 * received) / total))
      done(null, chunk)
    },
  })
  try {
    await pipeline(Readable.fromWeb(response.body), count, createWriteStream(path))
  } finally {
    clearTimeout(timer)
  }
}

/** D2: the time limit covers the answer's head only; the body has the stall limit. */
async function request(url: string, signal: AbortSignal): Promise<Response> {
  const head = new AbortController()
  const timer = setTimeout(() => head.abort(new Error('timeout')), CONNECT_LIMIT_MS)
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, head.signal]), redirect: 'follow' })
    if (!response.ok) throw new Error(`${url} answered ${response.status}; expected 200`)
    return response
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : undefined
    if (error instanceof TypeError)
      throw new Error(`${new URL(url).host} cannot be reached${cause === undefined ? '' : `: ${cause}`}`)
    if (head.signal.aborted) throw new Error(`${new URL(url).host} did not answer within ${CONNECT_LIMIT_MS / 1000} s`)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

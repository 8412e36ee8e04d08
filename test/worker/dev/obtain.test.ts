import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'

import { readConfig, type Config } from '../../../worker/server/config.ts'
import { cachePath } from '../../../worker/dev/cache.ts'
import { obtainBinaries } from '../../../worker/dev/obtain.ts'
import { platform, readPins, type Checksums, type Pin, type Pins } from '../../../worker/dev/pins.ts'
import { scratchFolder, script } from './scratch.ts'

const PROGRAM = '#!/bin/sh\necho kwok version v1.2.3\n'

describe('a binary that the user names', () => {
  it('is used if its version is right', async () => {
    const { config, dir } = await place()
    const path = await script(join(dir, 'my-kwok'), 'echo kwok version v1.2.9')
    expect(await obtain({ ...config, binaries: named(path) })).toBe(path)
  })

  it('is refused if its version is wrong, even if another source has the right one', async () => {
    const { config, dir } = await place()
    await script(join(dir, 'path', 'kwok'), 'echo kwok version v1.2.3')
    const path = await script(join(dir, 'my-kwok'), 'echo kwok version v9.0.0')
    await expect(obtain({ ...config, binaries: named(path) })).rejects.toThrow(
      `PAWL_KWOK: ${path} is 'kwok version v9.0.0'; expected 1.2.3`,
    )
  })
})

describe('a binary on PATH', () => {
  it('is used if its version is right', async () => {
    const { config, dir } = await place()
    const path = await script(join(dir, 'path', 'kwok'), 'echo kwok version v1.2.3')
    expect(await obtain(config)).toBe(path)
  })

  it('is skipped if its version is wrong', async () => {
    const { config, dir } = await place()
    await script(join(dir, 'path', 'kwok'), 'echo kwok version v0.1.0')
    const { pin } = await release()
    expect(await obtain(config, pin)).toBe(cachePath(config.cacheDir, 'kwok', pin))
  })
})

describe('a release download', () => {
  it.each(['bare', 'list', 'github'] as const)('is verified by a digest published as %s', async (kind) => {
    const { config } = await place()
    const { pin } = await release({ kind })
    const path = await obtain(config, pin)
    expect(await readFile(path, 'utf8')).toBe(PROGRAM)
  })

  it('may be an archive with the binary inside', async () => {
    const { config, dir } = await place()
    await mkdir(join(dir, 'tool'))
    await writeFile(join(dir, 'tool', 'kwok'), PROGRAM)
    await promisify(execFile)('tar', ['-czf', join(dir, 'tool.tgz'), '-C', dir, 'tool/kwok'])
    const { pin } = await release({ content: await readFile(join(dir, 'tool.tgz')), member: 'tool/kwok' })
    expect(await readFile(await obtain(config, pin), 'utf8')).toBe(PROGRAM)
  })

  it('is refused when its digest differs, and leaves nothing behind', async () => {
    const { config } = await place()
    const { pin, url } = await release({ digestOf: 'something else' })
    await expect(obtain(config, pin)).rejects.toThrow(`download: ${url}/kwok: found digest `)
    expect(await readdir(dirname(cachePath(config.cacheDir, 'kwok', pin)))).toEqual([])
  })

  it('is refused when the publisher states no digest', async () => {
    const { config } = await place()
    const { pin } = await release({ digest: 'none today' })
    await expect(obtain(config, pin)).rejects.toThrow('has no sha256 digest of kwok')
  })

  it('is refused when it was truncated', async () => {
    const { config } = await place()
    const { pin } = await release({ cutOff: true })
    await expect(obtain(config, pin)).rejects.toThrow('download: ')
    expect(await readdir(dirname(cachePath(config.cacheDir, 'kwok', pin)))).toEqual([])
  })

  it('is refused when the binary has another version', async () => {
    const { config } = await place()
    const { pin } = await release({ content: Buffer.from('#!/bin/sh\necho kwok version v7.7.7\n') })
    await expect(obtain(config, pin)).rejects.toThrow("kwok from download is 'kwok version v7.7.7'; expected 1.2.3")
  })

  it('runs once for two concurrent requests', async () => {
    const { config } = await place()
    const { pin, requests } = await release()
    const [one, other] = await Promise.all([obtain(config, pin), obtain(config, pin)])
    expect(one).toBe(other)
    expect(requests.filter((path) => path === '/kwok')).toHaveLength(1)
  })
})

describe('the cache', () => {
  it('is used without another download', async () => {
    const { config } = await place()
    const { pin, requests } = await release()
    await obtain(config, pin)
    const before = requests.length
    await obtain(config, pin)
    expect(requests).toHaveLength(before)
  })

  it('does not return a damaged binary', async () => {
    const { config } = await place()
    const { pin } = await release()
    const path = await obtain(config, pin)
    await truncate(path, 5)
    expect(await readFile(await obtain(config, pin), 'utf8')).toBe(PROGRAM)
  })

  it('does not return a binary without a stamp', async () => {
    const { config } = await place()
    const { pin } = await release()
    const path = cachePath(config.cacheDir, 'kwok', pin)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, 'half of it')
    expect(await readFile(await obtain(config, pin), 'utf8')).toBe(PROGRAM)
  })
})

describe('a missing binary', () => {
  it('is reported with each failed source and the remedies', async () => {
    const { config, dir } = await place()
    await script(
      join(dir, 'path', 'go'),
      'echo "go: go.mod requires go >= 1.26.0 (running go 1.22.1; GOTOOLCHAIN=local)" >&2; exit 1',
    )
    const message = await obtain(config).then(
      () => 'found',
      (error: unknown) => (error as Error).message,
    )
    expect(message).toContain('kwok 1.2.3 is not available; tried:')
    expect(message).toContain('environment: neither PAWL_KWOK nor a fitting KUBEBUILDER_ASSETS')
    expect(message).toContain('PATH: not there')
    expect(message).toContain('cache: no ')
    expect(message).toMatch(/download: 127\.0\.0\.1:\d+ cannot be reached/)
    expect(message).toMatch(/go build: .*requires go >= 1\.26\.0 \(running go 1\.22\.1/)
    expect(message).toContain('set PAWL_KWOK to the path of a 1.2.3 binary')
  })

  it('is reported with "go is not installed" when downloads are disabled', async () => {
    const { config } = await place()
    await expect(obtain({ ...config, mayDownload: false })).rejects.toThrow(
      /download: disabled by PAWL_OFFLINE\n {2}- go build: go is not installed/,
    )
  })
})

describe('the pins of this checkout', () => {
  it('name a release for this platform, or no release', () => {
    const { key } = platform()
    const names = Object.entries(readPins()).filter(([name]) => !name.startsWith('$'))
    expect(names).toHaveLength(12)
    for (const [, pin] of names) expect(pin.download.platforms.includes(key) || !key.startsWith('linux')).toBe(true)
  })
})

async function obtain(config: Config, pin?: Pin): Promise<string> {
  const pins = { kwok: pin ?? (await unreachable()) } as unknown as Pins
  const { kwok } = await obtainBinaries(['kwok'], { config, pins, progress: () => undefined })
  return kwok
}

/** A cache, and a search path with one folder for the scripts and the test's programs. */
async function place(): Promise<{ dir: string; config: Config }> {
  const dir = await scratchFolder()
  await mkdir(join(dir, 'path'))
  return { dir, config: { ...readConfig({ PAWL_CACHE: join(dir, 'cache') }), searchPath: [join(dir, 'path')] } }
}

function named(path: string): Config['binaries'] {
  return new Map([['kwok', { path, variable: 'PAWL_KWOK' }]])
}

interface Release {
  readonly kind?: Checksums['kind']
  readonly content?: Buffer
  readonly member?: string
  readonly digestOf?: string
  readonly digest?: string
  readonly cutOff?: boolean
}

/** A server with one artefact and its digest. */
async function release(options: Release = {}): Promise<{ pin: Pin; requests: string[]; url: string }> {
  const { kind = 'bare', content = Buffer.from(PROGRAM), member, cutOff = false } = options
  const digest =
    options.digest ??
    createHash('sha256')
      .update(options.digestOf ?? content)
      .digest('hex')
  const stated = {
    bare: `${digest}\n`,
    list: `${'0'.repeat(64)}  other\n${digest}  kwok\n`,
    github: JSON.stringify({
      assets: [
        { name: 'other', digest: null },
        { name: 'kwok', digest: `sha256:${digest}` },
      ],
    }),
  }[kind]
  const requests: string[] = []
  const url = await serve((request, response) => {
    requests.push(request.url ?? '')
    if (request.url !== '/kwok') return response.end(stated)
    response.setHeader('content-length', content.length)
    if (!cutOff) return response.end(content)
    return response.write(content.subarray(0, 5), () => response.destroy())
  })
  return { pin: pinAt(url, kind, member), requests, url }
}

async function serve(handle: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A pin whose server does not answer. */
async function unreachable(): Promise<Pin> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return pinAt(`http://127.0.0.1:${port}`, 'bare')
}

function pinAt(url: string, kind: Checksums['kind'], member?: string): Pin {
  return {
    version: '1.2.3',
    fits: 'v1\\.2\\.',
    go: { module: 'kwok', package: 'example.com/kwok' },
    download: {
      url: `${url}/kwok`,
      ...(member === undefined ? {} : { member }),
      platforms: [platform().key],
      checksums: { kind, algorithm: 'sha256', url: `${url}/digest` },
    },
  }
}

// A release's programs are downloaded into the cache with their published digests, all of them or none.

import { createHash } from 'node:crypto'
import { readdir, readFile, utimes } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'

import { releaseOf } from '../../../activities/foundationdb/pods/release.ts'
import { platform } from '../../../worker/dev/pins.ts'
import { obtainRelease } from '../../../worker/dev/release.ts'
import { scratchFolder } from './scratch.ts'

const VERSION = '7.1.67'

interface Publication {
  /** The program whose digest is of another file. */
  readonly wrong?: string
  /** The program whose download is interrupted. */
  readonly interrupted?: string
}

/** A server with a release, whose answers change with the publication. */
async function publish(publication: Publication = {}) {
  const state = { publication, requests: [] as string[] }
  const server = createServer((request, response) => {
    const [, name = '', isDigest] = /([\w]+)\.x86_64(\.sha256)?$/.exec(request.url ?? '') ?? []
    state.requests.push(request.url ?? '')
    const { wrong, interrupted } = state.publication
    const digest = createHash('sha256')
      .update(name === wrong ? 'another' : name)
      .digest('hex')
    if (isDigest !== undefined) return response.end(`${digest}  ${name}.x86_64\n`)
    response.setHeader('content-length', name.length)
    return name === interrupted ? response.write(name.slice(1), () => response.destroy()) : response.end(name)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const release = { ...releaseOf(VERSION, base), platforms: [platform().key] }
  const config = { cacheDir: await scratchFolder(), mayDownload: true }
  const obtain = async (mayDownload = true) =>
    await obtainRelease(release, { config: { ...config, mayDownload }, progress: () => undefined })
  return { state, obtain, server, cached: join(config.cacheDir, 'bin') }
}

describe('the programs of a release', () => {
  it('are in one folder with their further names, and are downloaded once', async () => {
    const { state, obtain } = await publish()
    const [folder, other] = await Promise.all([obtain(), obtain()])
    expect(other).toBe(folder)
    expect(await obtain()).toBe(folder)
    const names = ['backup_agent', 'fdbbackup', 'fdbcli', 'fdbmonitor', 'fdbrestore', 'fdbserver']
    expect((await readdir(folder)).sort()).toEqual(names)
    expect(await readFile(join(folder, 'fdbrestore'), 'utf8')).toBe('fdbbackup')
    expect(state.requests).toHaveLength(8)
    expect(state.requests[0]).toBe(`/${VERSION}/fdbserver.x86_64.sha256`)
  })

  it.each([
    ['of another file', { wrong: 'fdbmonitor' }, /fdbmonitor\.x86_64: found digest [0-9a-f]{64}; expected/],
    ['of a download that is interrupted', { interrupted: 'fdbcli' }, /./],
  ])(
    'are refused with the digest %s, leave nothing, and are not requested again at once',
    async (...[, problem, reason]) => {
      const { state, obtain, cached } = await publish(problem)
      await expect(obtain()).rejects.toThrow(reason)
      const failures = `foundationdb-${VERSION}-${platform().key}.failed`
      expect(await readdir(cached)).toEqual([failures])
      state.publication = {}
      const before = state.requests.length
      await expect(obtain()).rejects.toThrow(reason)
      expect(state.requests).toHaveLength(before)
      // Ten minutes later.
      await utimes(join(cached, failures), 1, 1)
      expect(await readdir(await obtain())).toContain('fdbserver')
    },
  )

  it('are not requested from a server that cannot be reached, or without permission', async () => {
    const { obtain, server, state } = await publish()
    await expect(obtain(false)).rejects.toThrow('downloads are disabled by PAWL_OFFLINE')
    expect(state.requests).toEqual([])
    await new Promise((resolve) => server.close(resolve))
    await expect(obtain()).rejects.toThrow(/127\.0\.0\.1:\d+ cannot be reached/)
  })
})

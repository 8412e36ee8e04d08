import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { flagsInDev, prepareInDev } from '../../../../activities/foundationdb/pods/in-dev.ts'
import type { DevPlace } from '../../../../activities/pods.ts'

const dir = mkdtempSync(join(tmpdir(), 'fdb-in-dev-'))
const installed = join(dir, 'installed')
beforeAll(() => {
  mkdirSync(installed)
  for (const name of ['fdbserver', 'fdbmonitor', 'fdbcli']) writeFileSync(join(installed, name), '', { mode: 0o755 })
})
afterAll(() => rmSync(dir, { recursive: true }))

const place: DevPlace = {
  kubeconfigPath: 'unused',
  isServerOurs: true,
  folder: dir,
  flags: {},
  env: { PATH: dir },
  download: ({ name, version }) => Promise.resolve(`/cache/${name}-${version}`),
  mountProblem: () => Promise.resolve(undefined),
}

describe("FoundationDB's tools in `pawl dev`", () => {
  it.each([
    ['the folder of the flag', { 'fdb-bin': '/given' }, { PAWL_FDB_BIN: '/variable' }, '/given', 'tools in "/given"'],
    [
      'the folder of the variable',
      {},
      { PAWL_FDB_BIN: 'variable', PATH: installed },
      resolve('variable'),
      `tools in "${resolve('variable')}"`,
    ],
    ['an installation in PATH', {}, { PATH: `bin:${installed}` }, installed, `FoundationDB in "${installed}"`],
    [
      'the official release',
      {},
      {},
      '/cache/foundationdb-7.1.67',
      'release 7.1.67 of FoundationDB in "/cache/foundationdb-7.1.67"',
    ],
  ])('are in %s', async (...[, flags, env, ...results]) => {
    const [expected, note] = results
    const prepared = await prepareInDev({ ...place, flags, env })
    expect(prepared).toEqual({ flags: { 'fdb-bin': expected }, note })
    expect(flagsInDev({ flags: prepared.flags })).toEqual({ 'fdb-bin': expected })
  })

  it.each([
    [
      'without internet',
      { download: () => Promise.reject(new Error('github.com cannot be reached')) },
      'its release cannot be downloaded: github.com cannot be reached',
    ],
    [
      'without mount namespaces',
      { mountProblem: () => Promise.resolve('not permitted') },
      'its release needs mount namespaces: not permitted',
    ],
  ])('are the tools of the simulator %s', async (...[, problem, reason]) => {
    const prepared = await prepareInDev({ ...place, ...problem })
    expect(prepared).toMatchObject({ flags: {}, env: { FDB_SIM_BLOBSTORE: join(dir, 'blob-store') } })
    expect(prepared.note).toContain(`a simulator, because no FoundationDB is installed, and ${reason}; `)
    expect(flagsInDev({ flags: prepared.flags })).toEqual({})
  })
})

import { spawnSync } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'

import { identify } from '../../../worker/server/process-identity.ts'
import { formatStatus, readStatus, writeState, type DevState, type PartState } from '../../../worker/dev/state.ts'
import { scratchFolder } from './scratch.ts'

const self = identify(process.pid)!

describe('the status of a data folder', () => {
  it('is down when the supervisor died', async () => {
    const { pid } = spawnSync('true')
    const state = await written([], { supervisor: { pid, started: '1' } })
    expect((await readStatus(state.dataDir)).up).toBe(false)
  })

  it('is up when each process runs and each address answers', async () => {
    const { dataDir } = await written([part({ name: 'kwok' }), part({ name: 'temporal', address: await listening() })])
    const status = await readStatus(dataDir)
    expect(status.up).toBe(true)
    expect(status.parts.map(({ name, up, pid }) => ({ name, up, pid }))).toEqual([
      { name: 'kwok', up: true, pid: process.pid },
      { name: 'temporal', up: true, pid: process.pid },
    ])
  })

  it('has the process ID of each server', async () => {
    const { dataDir } = await written([part({ name: 'worker', address: 'http://127.0.0.1:1' }), part({ name: 'kwok' })])
    expect(
      formatStatus(await readStatus(dataDir))
        .split('\n')
        .slice(0, 2),
    ).toEqual([
      expect.stringMatching(new RegExp(`^DOWN  worker  pid ${process.pid} +http://127.0.0.1:1$`)),
      `up    kwok    pid ${process.pid}`,
    ])
  })

  it('is down when one address does not answer', async () => {
    const { dataDir } = await written([part({ name: 'kwok' }), part({ name: 'etcd', address: 'http://127.0.0.1:1' })])
    const status = await readStatus(dataDir)
    expect(status.up).toBe(false)
    expect(status.parts.map(({ up }) => up)).toEqual([true, false])
  })

  it('is down when one process is gone', async () => {
    const { pid } = spawnSync('true')
    const { dataDir } = await written([part({ name: 'kwok', process: { pid, started: '1' } })])
    expect((await readStatus(dataDir)).up).toBe(false)
  })
})

function part(fields: Partial<PartState>): PartState {
  return { name: 'part', process: self, address: null, logFile: null, ...fields }
}

async function written(parts: readonly PartState[], fields: Partial<DevState> = {}): Promise<DevState> {
  const dataDir = await scratchFolder()
  const state: DevState = {
    dataDir,
    supervisor: self,
    startedAt: '2026-01-01T00:00:00.000Z',
    ephemeral: false,
    kubeconfig: `${dataDir}/kubeconfig`,
    kubectl: `${dataDir}/bin/kubectl`,
    temporalUi: null,
    parts,
    ...fields,
  }
  await writeState(state)
  return state
}

async function listening(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

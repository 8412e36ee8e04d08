// Nodes on which Pawl itself runs are left alone.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { DEFAULT_CONFIG } from '../../../../workflows/chaos/config.ts'
import { at, node, pass, pod } from './passes.ts'

const NODES = { selector: { role: 'web' }, count: '100%', duration: '10m', level: 'node', cpuPressure: {} }

beforeEach(() => vi.useFakeTimers({ now: at(5), toFake: ['Date'] }))
afterEach(() => vi.useRealTimers())

/** What a pass is told by a worker. */
const workerOn = (ownNodes: readonly string[], enableSafeguards = true) => ({
  ...DEFAULT_CONFIG,
  controller: { ...DEFAULT_CONFIG.controller, enableSafeguards, ownNodes },
})

const statusOf = async (given: Parameters<typeof pass>[0]) => (await pass(given)).status

describe('the node of the worker', () => {
  const state = { nodes: [node('a'), node('b'), node('c')] }

  it('is not disturbed, and the status contains it', async () => {
    expect(await statusOf({ spec: NODES, state, settings: workerOn(['a']) })).toMatchObject({
      targets: ['b', 'c'],
      sparedNodes: ['a'],
      desiredTargetsCount: 2,
      ignoredTargetsCount: 0,
    })
  })

  it('is disturbed like other nodes without safeguards, and if it is unknown', async () => {
    for (const settings of [workerOn(['a'], false), DEFAULT_CONFIG]) {
      const status = await statusOf({ spec: NODES, state, settings })
      expect(status).toMatchObject({ targets: ['a', 'b', 'c'] })
      expect(status).not.toHaveProperty('sparedNodes')
    }
  })

  it('stays spared after a pass of another worker, so that they do not alternate', async () => {
    const first = await pass({ spec: NODES, state, settings: workerOn(['a']) })
    const second = await pass({
      spec: NODES,
      state,
      settings: workerOn(['b']),
      status: first.next.target.status as object,
    })
    expect(second.status).toMatchObject({ targets: ['c'], sparedNodes: ['a', 'b'] })
    const third = await pass({
      spec: NODES,
      state,
      settings: workerOn(['a']),
      status: second.next.target.status as object,
    })
    expect(third.next.target.status).toMatchObject({ targets: ['c'], sparedNodes: ['a', 'b'] })
  })

  it('protects its pods from node failures only', async () => {
    const pods = { pods: [pod('web-1', { node: 'a' }), pod('web-2', { node: 'b' })] }
    const spec = { selector: { app: 'web' }, count: '100%', duration: '10m' }
    const settings = workerOn(['a'])
    expect(await statusOf({ spec: { ...spec, nodeFailure: {} }, state: pods, settings })).toMatchObject({
      targets: ['web-2'],
      sparedNodes: ['a'],
    })
    const drop = await statusOf({ spec: { ...spec, network: { drop: 30 } }, state: pods, settings })
    expect(drop).toMatchObject({ targets: ['web-1', 'web-2'] })
    expect(drop).not.toHaveProperty('sparedNodes')
  })

  it('leaves no target if it is the only node', async () => {
    const { status, events } = await pass({ spec: NODES, state: { nodes: [node('a')] }, settings: workerOn(['a']) })
    expect(status).toMatchObject({ targets: [], sparedNodes: ['a'] })
    expect(events).toContainEqual(expect.objectContaining({ reason: 'NoTargetsFound' }))
  })
})

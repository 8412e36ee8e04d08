// Tests DNS disruptions of real containers, whose queries are redirected to the responder.
// Source: spec/chaos.md 3.7, D10.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { ChaosStage, type Container, networkState, openTables, UNIFIED, whyNot } from './chaos-stage.ts'

const missing = whyNot(['ip', 'iptables', 'iptables-restore', 'nsenter', 'unshare'])
const because = missing === undefined ? '' : ` (skipped: ${missing})`

const NODE = '10.88.0.1'
const POD = '10.88.0.2'

let stage: ChaosStage
let node: Container
let app: Container
let before: string

describe.skipIf(missing !== undefined)(`a disruption of DNS${because}`, { timeout: 120_000 }, () => {
  beforeEach(async () => {
    stage = await ChaosStage.open()
    node = await stage.container()
    app = await stage.container(UNIFIED === undefined ? {} : { groups: [stage.group(UNIFIED, 'app')] })
    await stage.connect(node, app, { one: [NODE], other: POD })
    openTables(app)
    before = networkState(app)
  })

  afterEach(async () => {
    await stage.close()
  })

  it("changes the target's DNS answers, and nothing after its end", async () => {
    const injector = await stage.injected(args('a.example:A:192.0.2.7:5;gone.example:A:NXDOMAIN:5'), place())
    await expect.poll(() => ask('a.example')).toEqual(['192.0.2.7'])
    await expect.poll(() => ask('gone.example')).toBe('ENOTFOUND')
    await injector.end()
    expect(networkState(app)).toBe(before)
    // No server has this address.
    expect(await ask('a.example')).not.toEqual(['192.0.2.7'])
  })

  it.skipIf(UNIFIED === undefined)('spares the other containers of the pod', async () => {
    const sidecar = await stage.container({ beside: app, groups: [stage.group(UNIFIED ?? '', 'sidecar')] })
    await stage.injected(args('a.example:A:192.0.2.7:5'), place())
    expect(await ask('a.example', sidecar)).not.toEqual(['192.0.2.7'])
    await expect.poll(() => ask('a.example')).toEqual(['192.0.2.7'])
  })

  it.each(['its notes', 'its marks'])('of a killed injector is undone by %s', async (by) => {
    const injector = await stage.injected(args('a.example:A:192.0.2.7:5'), place())
    injector.kill('SIGKILL')
    await injector.ended
    expect(networkState(app)).toContain('CHAOS-DNS')
    const state = by === 'its notes' ? stage.state : `${stage.state}-lost`
    const sweep = stage.injector(['sweep', '--state', state, '--network-of', String(app.pid)])
    expect(await sweep.ended).toBe(0)
    expect(networkState(app)).toBe(before)
  })

  it('is not injected if the address of its pod is unknown', async () => {
    const injector = stage.injector(args('a.example:A:192.0.2.7:5'), { inside: node })
    await injector.says('Unsupported: CHAOS_POD_IP is missing; set it to the address of this pod')
    await injector.end()
    expect(networkState(app)).toBe(before)
  })
})

function args(records: string): readonly string[] {
  return ['dns-disruption', '--level', 'pod', '--target-containers', `app;${app.id}`, '--records', records]
}

/** The injector runs in the network of `node`, and has the address of `node` as pod IP. */
function place() {
  return { inside: node, env: { CHAOS_POD_IP: NODE } }
}

async function ask(name: string, from = app): Promise<unknown> {
  return await from.does('resolve', { server: NODE, name })
}

// Network disruptions of real packets between two test networks. Each test has networks of its own, and they run at the same
// time. Source: spec/chaos.md 4.5 (D11), 8.3, Q19, Q20.

import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { describe, expect, it, type TestContext, vi } from 'vitest'

import { sampleOf } from '../support/matrix/form.ts'
import { MovableClock, whyNoMovableClock } from '../support/servers/movable-clock.ts'
import {
  ChaosStage,
  type Container,
  type Injector,
  inside,
  networkState,
  openTables,
  PATIENCE,
  run,
  UNIFIED,
  whyNot,
} from './chaos-stage.ts'

const missing = whyNot(['ip', 'tc', 'iptables', 'iptables-restore', 'nsenter', 'unshare'])
const because = missing === undefined ? '' : ` (skipped: ${missing})`

const fixed = whyNoMovableClock()

const PEER = '10.88.0.1'
const ALLOWED = '10.88.0.3'
const POD = '10.88.0.2'

/** The networks of one test: `peer` and `app` are connected. */
class Networks {
  readonly stage: ChaosStage
  readonly peer: Container
  readonly app: Container
  readonly #before: string

  private constructor(stage: ChaosStage, peer: Container, app: Container) {
    this.stage = stage
    this.peer = peer
    this.app = app
    openTables(app)
    this.#before = networkState(app)
  }

  static async open({ onTestFinished }: TestContext, isInGroup = true): Promise<Networks> {
    const stage = await ChaosStage.open()
    onTestFinished(async () => await stage.close())
    const peer = await stage.container()
    const groups = isInGroup && UNIFIED !== undefined ? { groups: [stage.group(UNIFIED, 'app')] } : {}
    const app = await stage.container(groups)
    await stage.connect(peer, app, { one: [PEER, ALLOWED], other: POD })
    await peer.does('count', { ports: [9001, 9002] })
    return new Networks(stage, peer, app)
  }

  /** The arguments of an injector that disrupts `app`. */
  args(...flags: readonly string[]): readonly string[] {
    return ['network-disruption', '--level', 'pod', '--target-containers', `app;${this.app.id}`, ...flags]
  }

  async injected(flags: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Injector> {
    return await this.stage.injected(this.args(...flags), { env })
  }

  /** Sweeps the network of `app`. */
  sweep(): Injector {
    return this.stage.injector(['sweep', '--state', this.stage.state, '--network-of', String(this.app.pid)])
  }

  expectUndisrupted(message?: string): void {
    expect(networkState(this.app), message).toBe(this.#before)
  }

  expectDisrupted(): void {
    expect(networkState(this.app)).not.toBe(this.#before)
  }

  /** Sends 400 datagrams to each port, and returns how many arrived. */
  async sent(...to: readonly (readonly [string, number])[]): Promise<Readonly<Record<number, number>>> {
    for (const [ip, port] of to) await this.app.does('send', { ip, port, times: 400 })
    return await this.counted()
  }

  /** All earlier datagrams have arrived: the link keeps the order, and the socket is read before the answer. */
  async counted(): Promise<Readonly<Record<number, number>>> {
    let sum: Record<number, number> = {}
    for (let quiet = 0; quiet < 3;) {
      const more = await this.peer.does<Record<number, number>>('counted')
      quiet = Object.values(more).some((count) => count > 0) ? 0 : quiet + 1
      sum = Object.fromEntries(Object.entries(more).map(([port, count]) => [port, (sum[Number(port)] ?? 0) + count]))
    }
    return sum
  }
}

const LACKING = { CHAOS_INJECTOR_NETWORK_BACKEND: 'iptables-htb' }

describe.skipIf(missing !== undefined).concurrent(`a network disruption${because}`, { timeout: 120_000 }, () => {
  it.skipIf(fixed !== undefined).for([
    { jump: 'past its deadline', hours: 2, lastsSeconds: 3600 },
    // Longer than an injection takes on a slow machine.
    { jump: 'back', hours: -2, lastsSeconds: 30 },
  ])('X4: ends and is undone when the clock of its injector jumps $jump', async ({ hours, lastsSeconds }, context) => {
    const clock = new MovableClock()
    context.onTestFinished(() => clock.remove())
    const one = await Networks.open(context)
    const deadline = new Date(Date.now() + lastsSeconds * 1000).toISOString()
    const injector = await one.injected(['--drop', '50', '--deadline', deadline], clock.env)
    one.expectDisrupted()
    clock.set(hours * 3600)
    expect(await injector.ended).toBe(0)
    expect(injector.lines.join('\n')).toContain('"reason":"deadline"')
    one.expectUndisrupted()
  })

  it('drops its share of packets to a named port, and none to another port', async (context) => {
    const one = await Networks.open(context)
    const injector = await one.injected(['--drop', '50', '--hosts', `${PEER};9001;udp`])
    const { [9001]: hit, [9002]: spared } = await one.sent([PEER, 9001], [PEER, 9002])
    // Six standard deviations around the middle of 400 coin tosses.
    expect(hit).toBeGreaterThan(140)
    expect(hit).toBeLessThan(260)
    expect(spared).toBe(400)
    await injector.end()
    one.expectUndisrupted()
    expect(await one.sent([PEER, 9001])).toEqual({ 9001: 400, 9002: 0 })
  })

  it('passes allowed hosts when it drops everything else', async (context) => {
    const one = await Networks.open(context)
    await one.injected(['--drop', '100', '--allowed-hosts', ALLOWED])
    expect(await one.sent([ALLOWED, 9001], [PEER, 9002])).toEqual({ 9001: 400, 9002: 0 })
  })

  it('drops answers of the target to clients, but not its own requests', async (context) => {
    const one = await Networks.open(context)
    const { peer, app } = one
    for (const each of [peer, app]) await each.does('serve', { port: 8080, bytes: 10 })
    await one.injected(['--drop', '100', '--hosts', ';8080;tcp;ingress'])
    expect(await peer.does('fetch', { ip: POD, port: 8080, withinMs: 1500 })).toMatchObject({ bytes: 0 })
    expect(await app.does('fetch', { ip: PEER, port: 8080, withinMs: 20_000 })).toMatchObject({ bytes: 10 })
  })

  it('limits the bytes of the matching connection only', async (context) => {
    const one = await Networks.open(context)
    const { peer, app } = one
    await app.does('serve', { port: 8080, bytes: 200_000 })
    await app.does('serve', { port: 8081, bytes: 5_000_000 })
    const injector = await one.injected(['--bandwidth-limit', '50000', '--hosts', ';8080;tcp;ingress'])
    const fetch = async (port: number) =>
      await peer.does<{ bytes: number; ms: number }>('fetch', { ip: POD, port, withinMs: 60_000 })
    const limited = await fetch(8080)
    expect(limited.bytes).toBe(200_000)
    // The minimum of four seconds, if the first packets pass at once.
    expect(limited.ms).toBeGreaterThan(2000)
    // With the limit it would take a hundred seconds.
    expect((await fetch(8081)).bytes).toBe(5_000_000)
    injector.kill('SIGINT')
    expect(await injector.ended).toBe(0)
    one.expectUndisrupted()
  })

  it.skipIf(UNIFIED === undefined)('spares the other containers of the pod', async (context) => {
    const one = await Networks.open(context)
    const { stage, app } = one
    const sidecar = await stage.container({ beside: app, groups: [stage.group(UNIFIED ?? '', 'sidecar')] })
    await one.injected(['--drop', '100', '--hosts', `${PEER};9001;udp`])
    for (const each of [sidecar, app]) await each.does('send', { ip: PEER, port: 9001, times: 400 })
    expect(await one.counted()).toEqual({ 9001: 400, 9002: 0 })
  })

  it('changes nothing in a dry run, is ready, and reports unsupported effects', async (context) => {
    const one = await Networks.open(context)
    const { state } = one.stage
    const injector = await one.injected(['--drop', '100', '--dry-run'])
    one.expectUndisrupted()
    expect(existsSync(state) ? (await readdir(state)).filter((name) => name.endsWith('.json')) : []).toEqual([])
    await injector.end()
    const lacking = await one.injected(['--delay', '100', '--dry-run'], LACKING)
    await lacking.says('dry run: this machine cannot inject it')
    one.expectUndisrupted()
  })

  it('D16: is not injected, not ready, and changes nothing if the kernel or the shaping of other programs prevents it', async (context) => {
    const one = await Networks.open(context)
    const { stage, app } = one
    const unsupported = stage.injector(one.args('--drop', '10', '--delay', '100'), { env: LACKING })
    await unsupported.says('Unsupported: delay needs the queueing discipline netem')
    one.expectUndisrupted()
    expect(unsupported.isReady()).toBe(false)
    await unsupported.end()
    inside(app, 'tc', 'qdisc', 'add', 'dev', 'eth0', 'root', 'handle', '7:', 'htb', 'default', '1')
    const shaped = networkState(app)
    const injector = stage.injector(one.args('--bandwidth-limit', '1000'))
    await injector.says('the interface eth0 already has the queueing discipline htb 7:')
    await injector.end()
    expect(networkState(app)).toBe(shaped)
  })

  it('is cleaned up when its target has ended before', async (context) => {
    const one = await Networks.open(context)
    const injector = await one.injected(['--drop', '10'])
    process.kill(one.app.pid, 'SIGKILL')
    await one.app.ended
    await injector.end()
  })
})

describe.skipIf(missing !== undefined).concurrent(`a killed network disruption${because}`, { timeout: 240_000 }, () => {
  const FLAGS = ['--drop', '10', '--bandwidth-limit', '1000', '--hosts', `${PEER};9001;udp`]
  const killed = async (one: Networks, env = {}) => {
    const injector = await one.injected(FLAGS, env)
    injector.kill('SIGKILL')
    await injector.ended
    one.expectDisrupted()
  }

  // Three queries, six classes, one transaction: an injection starts nsenter at least nine times.
  const LEAST_STEPS = 9
  const STEPS = Array.from({ length: LEAST_STEPS + 3 }, (_, index) => index + 1)

  it.for(
    ['its notes', 'its marks'].flatMap((by) =>
      sampleOf(`chaos-network: ${by}`, STEPS, 3).map((step) => [by, step] as const),
    ),
  )('is undone by %s when its injector was killed at step %i', async ([by, step], context) => {
    const one = await Networks.open(context, false)
    const { stage } = one
    const injector = stage.injector(one.args(...FLAGS), { env: await dyingAfter(stage, step) })
    const ready = async () => await vi.waitFor(() => expect(injector.isReady()).toBe(true), PATIENCE)
    const outcome = await Promise.race([injector.ended.then(() => 'killed'), ready()])
    if (step <= LEAST_STEPS) expect(outcome).toBe('killed')
    injector.kill('SIGKILL')
    await injector.ended
    if (by === 'its marks') await rm(stage.state, { recursive: true, force: true })
    const sweep = one.sweep()
    expect(await sweep.ended, sweep.lines.join('\n')).toBe(0)
    one.expectUndisrupted(sweep.lines.join('\n'))
  })

  it('is undone by the restarted injector', async (context) => {
    const one = await Networks.open(context)
    const env = { INJECTOR_POD_NAME: 'chaos-1' }
    await killed(one, env)
    const second = await one.injected(['--drop', '20'], env)
    expect(networkState(one.app)).not.toContain('ca05:')
    await second.end()
    one.expectUndisrupted()
  })

  it('is reported by a sweep if rules of other programs use its chain', async (context) => {
    const one = await Networks.open(context)
    await killed(one)
    await rm(one.stage.state, { recursive: true })
    inside(one.app, 'iptables', '-w', '-t', 'mangle', '-A', 'OUTPUT', '-p', 'icmp', '-j', 'CHAOS-NET')
    const sweep = one.sweep()
    expect(await sweep.ended).toBe(1)
    expect(sweep.lines).toContain('left: mangle: -A OUTPUT -p icmp -j CHAOS-NET')
    expect(networkState(one.app)).not.toContain('pawl-chaos')
    expect(networkState(one.app)).not.toContain('ca05:')
  })

  it('keeps another injector from disrupting the same network until it is swept, and no sweep touches a living one', async (context) => {
    const one = await Networks.open(context)
    const { stage } = one
    await killed(one)
    const second = stage.injector(one.args(...FLAGS), { env: { CHAOS_INJECTOR_STATE: join(stage.folder, 'other') } })
    await second.says('Unsupported: the target is already disrupted: its table mangle has the chain CHAOS-NET')
    await second.end()
    one.expectDisrupted()
    expect(await one.sweep().ended).toBe(0)
    one.expectUndisrupted()
    const living = await one.injected(FLAGS)
    const disrupted = networkState(one.app)
    expect(await one.sweep().ended).toBe(0)
    expect(networkState(one.app)).toBe(disrupted)
    await living.end()
    one.expectUndisrupted()
  })
})

/** A wrapper of nsenter, first in the PATH, that kills its parent at the given call. */
async function dyingAfter(stage: ChaosStage, turn: number): Promise<Readonly<Record<string, string>>> {
  const folder = join(stage.folder, `bin-${turn}`)
  const real = run('sh', '-c', 'command -v nsenter').trim()
  await mkdir(folder)
  const script = `#!/bin/sh\necho >> ${folder}/turns\n${real} "$@"\ncode=$?\n[ "$(wc -l < ${folder}/turns)" = ${turn} ] && kill -KILL $PPID\nexit $code\n`
  await writeFile(join(folder, 'nsenter'), script)
  await chmod(join(folder, 'nsenter'), 0o755)
  return { PATH: `${folder}:${process.env['PATH'] ?? ''}` }
}

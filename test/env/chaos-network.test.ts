// Network disruptions of real packets between two test networks. Source: spec/chaos.md 4.5 (D11), 8.3, Q19, Q20.

import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { sampleOf } from '../support/matrix/form.ts'
import { MovableClock, whyNoMovableClock } from '../support/servers/movable-clock.ts'
import { ChaosStage, type Container, inside, networkState, openTables, run, UNIFIED, whyNot } from './chaos-stage.ts'

const missing = whyNot(['ip', 'tc', 'iptables', 'iptables-restore', 'nsenter', 'unshare'])
const because = missing === undefined ? '' : ` (skipped: ${missing})`

const fixed = whyNoMovableClock()

const PEER = '10.88.0.1'
const ALLOWED = '10.88.0.3'
const POD = '10.88.0.2'

let stage: ChaosStage
let peer: Container
let app: Container
let before: string

describe.skipIf(missing !== undefined)(`a network disruption${because}`, { timeout: 120_000 }, () => {
  beforeEach(async () => {
    stage = await ChaosStage.open()
    peer = await stage.container()
    app = await stage.container(UNIFIED === undefined ? {} : { groups: [stage.group(UNIFIED, 'app')] })
    await stage.connect(peer, app, { one: [PEER, ALLOWED], other: POD })
    await peer.does('count', { ports: [9001, 9002] })
    openTables(app)
    before = networkState(app)
  })

  afterEach(async () => {
    await stage.close()
  })

  it('drops its share of packets to a named port, and none to another port', async () => {
    const injector = await stage.injected([...target(), '--drop', '50', '--hosts', `${PEER};9001;udp`])
    const { [9001]: hit, [9002]: spared } = await sent([PEER, 9001], [PEER, 9002])
    // Six standard deviations around the middle of 400 coin tosses.
    expect(hit).toBeGreaterThan(140)
    expect(hit).toBeLessThan(260)
    expect(spared).toBe(400)
    injector.kill('SIGTERM')
    expect(await injector.ended).toBe(0)
    expect(networkState(app)).toBe(before)
    expect(await sent([PEER, 9001])).toEqual({ 9001: 400, 9002: 0 })
  })

  describe.skipIf(fixed !== undefined)(
    `whose injector has a clock that is set${fixed === undefined ? '' : ` (skipped: ${fixed})`}`,
    () => {
      let clock: MovableClock
      beforeEach(() => {
        clock = new MovableClock()
      })
      afterEach(() => {
        clock.remove()
      })

      it.each([
        { jump: 'past its deadline', hours: 2, lastsSeconds: 3600 },
        // Longer than an injection takes on a slow machine.
        { jump: 'back', hours: -2, lastsSeconds: 30 },
      ])('X4: ends and is undone when that jumps $jump', async ({ hours, lastsSeconds }) => {
        const deadline = new Date(Date.now() + lastsSeconds * 1000).toISOString()
        const args = [...target(), '--drop', '50', '--hosts', `${PEER};9001;udp`, '--deadline', deadline]
        const injector = await stage.injected(args, { env: clock.env })
        expect(networkState(app)).not.toBe(before)
        clock.set(hours * 3600)
        expect(await injector.ended).toBe(0)
        expect(injector.lines.join('\n')).toContain('"reason":"deadline"')
        expect(networkState(app)).toBe(before)
      })
    },
  )

  it('passes allowed hosts when it drops everything else', async () => {
    await stage.injected([...target(), '--drop', '100', '--allowed-hosts', ALLOWED])
    expect(await sent([ALLOWED, 9001], [PEER, 9002])).toEqual({ 9001: 400, 9002: 0 })
  })

  it('drops answers of the target to clients, but not its own requests', async () => {
    for (const one of [peer, app]) await one.does('serve', { port: 8080, bytes: 10 })
    await stage.injected([...target(), '--drop', '100', '--hosts', ';8080;tcp;ingress'])
    expect(await peer.does('fetch', { ip: POD, port: 8080, withinMs: 1500 })).toMatchObject({ bytes: 0 })
    expect(await app.does('fetch', { ip: PEER, port: 8080, withinMs: 20_000 })).toMatchObject({ bytes: 10 })
  })

  it('limits the bytes of the matching connection only', async () => {
    await app.does('serve', { port: 8080, bytes: 200_000 })
    await app.does('serve', { port: 8081, bytes: 5_000_000 })
    const limit = ['--bandwidth-limit', '50000', '--hosts', ';8080;tcp;ingress']
    const injector = await stage.injected([...target(), ...limit])
    const limited = await peer.does<{ bytes: number; ms: number }>('fetch', { ip: POD, port: 8080, withinMs: 60_000 })
    expect(limited.bytes).toBe(200_000)
    // The minimum of four seconds, if the first packets pass at once.
    expect(limited.ms).toBeGreaterThan(2000)
    // With the limit it would take a hundred seconds.
    const free = await peer.does<{ bytes: number }>('fetch', { ip: POD, port: 8081, withinMs: 30_000 })
    expect(free.bytes).toBe(5_000_000)
    injector.kill('SIGINT')
    expect(await injector.ended).toBe(0)
    expect(networkState(app)).toBe(before)
  })

  it.skipIf(UNIFIED === undefined)('spares the other containers of the pod', async () => {
    const sidecar = await stage.container({ beside: app, groups: [stage.group(UNIFIED ?? '', 'sidecar')] })
    await stage.injected([...target(), '--drop', '100', '--hosts', `${PEER};9001;udp`])
    await sidecar.does('send', { ip: PEER, port: 9001, times: 400 })
    await app.does('send', { ip: PEER, port: 9001, times: 400 })
    expect(await counted()).toEqual({ 9001: 400, 9002: 0 })
  })

  it('changes nothing in a dry run, and is ready', async () => {
    const injector = await stage.injected([...target(), '--drop', '100', '--dry-run'])
    expect(networkState(app)).toBe(before)
    expect(
      existsSync(stage.state) ? (await readdir(stage.state)).filter((name) => name.endsWith('.json')) : [],
    ).toEqual([])
    expect(await sent([PEER, 9001])).toEqual({ 9001: 400, 9002: 0 })
    injector.kill('SIGTERM')
    expect(await injector.ended).toBe(0)
  })

  it('D16: is not injected, not ready, and cleans up nothing if the kernel does not support it', async () => {
    const env = { CHAOS_INJECTOR_NETWORK_BACKEND: 'iptables-htb' }
    const injector = stage.injector([...target(), '--drop', '10', '--delay', '100'], { env })
    await expect
      .poll(() => injector.lines.join('\n'))
      .toContain('Unsupported: delay needs the queueing discipline netem')
    expect(networkState(app)).toBe(before)
    expect(injector.isReady()).toBe(false)
    injector.kill('SIGTERM')
    expect(await injector.ended).toBe(0)
  })

  it('reports unsupported effects in a dry run, and is ready', async () => {
    const env = { CHAOS_INJECTOR_NETWORK_BACKEND: 'iptables-htb' }
    const injector = await stage.injected([...target(), '--delay', '100', '--dry-run'], { env })
    await expect.poll(() => injector.lines.join('\n')).toContain('dry run: this would not be injected here')
    expect(networkState(app)).toBe(before)
  })

  it('leaves the shaping of other programs unchanged', async () => {
    inside(app, 'tc', 'qdisc', 'add', 'dev', 'eth0', 'root', 'handle', '7:', 'htb', 'default', '1')
    const shaped = networkState(app)
    const injector = stage.injector([...target(), '--bandwidth-limit', '1000'])
    await expect.poll(() => injector.lines.join('\n')).toContain('the bandwidth of eth0 is shaped already, by htb 7:')
    injector.kill('SIGTERM')
    expect(await injector.ended).toBe(0)
    expect(networkState(app)).toBe(shaped)
  })

  it('is cleaned up at its deadline, also when the target has ended before', async () => {
    const deadline = new Date(Date.now() + 20_000).toISOString()
    const injector = await stage.injected([...target(), '--drop', '10', '--deadline', deadline])
    expect(await injector.ended).toBe(0)
    expect(networkState(app)).toBe(before)
    const second = await stage.injected([...target(), '--drop', '10'])
    process.kill(app.pid, 'SIGKILL')
    await app.ended
    second.kill('SIGTERM')
    expect(await second.ended).toBe(0)
  })
})

describe.skipIf(missing !== undefined)(`a killed network disruption${because}`, { timeout: 240_000 }, () => {
  const args = () => [...target(), '--drop', '10', '--bandwidth-limit', '1000', '--hosts', `${PEER};9001;udp`]

  beforeEach(async () => {
    stage = await ChaosStage.open()
    peer = await stage.container()
    app = await stage.container()
    await stage.connect(peer, app, { one: [PEER], other: POD })
    openTables(app)
    before = networkState(app)
  })

  afterEach(async () => {
    await stage.close()
  })

  // Three queries, six classes, one transaction: an injection starts nsenter at least nine times.
  const LEAST_STEPS = 9
  const STEPS = Array.from({ length: LEAST_STEPS + 3 }, (_, index) => index + 1)

  it.each(['its notes', 'its marks'])('is undone by %s at whatever point its injector was killed', async (by) => {
    for (const step of sampleOf(`chaos-network: ${by}`, STEPS, 3)) {
      const injector = stage.injector(args(), { env: await dyingAfter(step) })
      const outcome = await Promise.race([injector.ended.then(() => 'killed'), ready(injector)])
      if (step <= LEAST_STEPS) expect(outcome, `step ${step}`).toBe('killed')
      injector.kill('SIGKILL')
      await injector.ended
      if (by === 'its marks') await rm(stage.state, { recursive: true, force: true })
      const sweep = stage.injector(['sweep', '--state', stage.state, '--network-of', String(app.pid)])
      expect([await sweep.ended, networkState(app)], `step ${step}: ${sweep.lines.join('\n')}`).toEqual([0, before])
    }
  })

  it('is undone by the restarted injector', async () => {
    const env = { INJECTOR_POD_NAME: 'chaos-1' }
    const first = await stage.injected(args(), { env })
    first.kill('SIGKILL')
    await first.ended
    expect(networkState(app)).not.toBe(before)
    const second = await stage.injected([...target(), '--drop', '20'], { env })
    expect(networkState(app)).not.toContain('ca05:')
    second.kill('SIGTERM')
    expect(await second.ended).toBe(0)
    expect(networkState(app)).toBe(before)
  })

  it('is reported by a sweep if rules of other programs use its chain', async () => {
    const injector = await stage.injected(args())
    injector.kill('SIGKILL')
    await injector.ended
    await rm(stage.state, { recursive: true })
    inside(app, 'iptables', '-w', '-t', 'mangle', '-A', 'OUTPUT', '-p', 'icmp', '-j', 'CHAOS-NET')
    const sweep = stage.injector(['sweep', '--state', stage.state, '--network-of', String(app.pid)])
    expect(await sweep.ended).toBe(1)
    expect(sweep.lines).toContain('left: mangle: -A OUTPUT -p icmp -j CHAOS-NET')
    expect(networkState(app)).not.toContain('pawl-chaos')
    expect(networkState(app)).not.toContain('ca05:')
  })

  it('keeps another injector from disrupting the same network, until it is swept', async () => {
    const first = await stage.injected(args())
    first.kill('SIGKILL')
    await first.ended
    const second = stage.injector(args(), { env: { CHAOS_INJECTOR_STATE: join(stage.folder, 'other') } })
    await expect.poll(() => second.lines.join('\n')).toContain('Unsupported: the target is disrupted already')
    second.kill('SIGTERM')
    expect(await second.ended).toBe(0)
    expect(networkState(app)).toContain('CHAOS-NET')
  })

  it('is not touched by a sweep while its injector lives', async () => {
    const injector = await stage.injected(args())
    const disrupted = networkState(app)
    const sweep = stage.injector(['sweep', '--state', stage.state, '--network-of', String(app.pid)])
    expect(await sweep.ended).toBe(0)
    expect(networkState(app)).toBe(disrupted)
    injector.kill('SIGTERM')
    expect(await injector.ended).toBe(0)
    expect(networkState(app)).toBe(before)
  })
})

function target(): readonly string[] {
  return ['network-disruption', '--level', 'pod', '--target-containers', `app;${app.id}`]
}

/** Sends 400 datagrams to each port, and returns how many arrived. */
async function sent(...to: readonly (readonly [string, number])[]): Promise<Readonly<Record<number, number>>> {
  for (const [ip, port] of to) await app.does('send', { ip, port, times: 400 })
  return await counted()
}

/** All earlier datagrams have arrived: the link keeps the order, and the socket is read before the answer. */
async function counted(): Promise<Readonly<Record<number, number>>> {
  let sum: Record<number, number> = {}
  for (let quiet = 0; quiet < 3;) {
    const more = await peer.does<Record<number, number>>('counted')
    quiet = Object.values(more).some((count) => count > 0) ? 0 : quiet + 1
    sum = Object.fromEntries(Object.entries(more).map(([port, count]) => [port, (sum[Number(port)] ?? 0) + count]))
  }
  return sum
}

async function ready(injector: { readonly isReady: () => boolean }): Promise<'ready'> {
  await expect.poll(() => injector.isReady(), { timeout: 60_000 }).toBe(true)
  return 'ready'
}

/** A wrapper of nsenter, first in the PATH, that kills its parent at the given call. */
async function dyingAfter(turn: number): Promise<Readonly<Record<string, string>>> {
  const folder = join(stage.folder, `bin-${turn}`)
  const real = run('sh', '-c', 'command -v nsenter').trim()
  await mkdir(folder)
  const script = `#!/bin/sh\necho >> ${folder}/turns\n${real} "$@"\ncode=$?\n[ "$(wc -l < ${folder}/turns)" = ${turn} ] && kill -KILL $PPID\nexit $code\n`
  await writeFile(join(folder, 'nsenter'), script)
  await chmod(join(folder, 'nsenter'), 0o755)
  return { PATH: `${folder}:${process.env['PATH'] ?? ''}` }
}

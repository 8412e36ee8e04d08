// Pressure on CPU, memory and disk, and killed containers, in real control groups of the test. Source: spec/chaos.md
// 4.5 (D12 to D14, D16).

import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { ChaosStage, type Container, whyNot, write } from './chaos-stage.ts'

const GROUPS = '/sys/fs/cgroup'
const MEBIBYTE = 1024 * 1024

const missing = whyNot(['unshare', 'nsenter']) ?? noGroups()
const because = missing === undefined ? '' : ` (skipped: ${missing})`

let stage: ChaosStage
let app: Container

describe.skipIf(missing !== undefined)(`an injector${because}`, { timeout: 120_000 }, () => {
  beforeEach(async () => {
    stage = await ChaosStage.open()
  })

  afterEach(async () => {
    await stage.close()
  })

  it('D12: keeps the CPUs of a group busy for a share of the time, until it ends', async () => {
    const [cpu, accounts] = [stage.group(join(GROUPS, 'cpu'), 'app'), stage.group(join(GROUPS, 'cpuacct'), 'app')]
    // The kernel's maximum: the group gets its share of the CPUs however busy other processes keep them.
    write(join(cpu, 'cpu.shares'), '262144')
    app = await stage.container({ groups: [cpu, accounts] })
    const injector = await stage.injected(told('cpu-pressure', '--count', '30%'))
    const cpus = cpusIn(/^Cpus_allowed_list:\s+(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0')
    const used = () => usedShare(join(accounts, 'cpuacct.usage'), cpus)
    // The load differs until its threads have started.
    await expect.poll(async () => Math.abs((await used()) - 0.3), { timeout: 60_000 }).toBeLessThan(0.1)
    await injector.end()
    expect(members(cpu)).toEqual([app.pid])
    await expect.poll(used).toBeLessThan(0.05)
  })

  it('D12: fills the memory of a group up to a share of its limit, and frees it', async () => {
    const memory = stage.group(join(GROUPS, 'memory'), 'app')
    write(join(memory, 'memory.limit_in_bytes'), String(512 * MEBIBYTE))
    app = await stage.container({ groups: [memory] })
    const usage = async () => Number(await readFile(join(memory, 'memory.usage_in_bytes'), 'utf8')) / MEBIBYTE
    const before = await usage()
    const injector = await stage.injected(told('memory-pressure', '--target-percent', '60', '--ramp-duration', '2s'))
    await expect.poll(usage).toBeGreaterThan(290)
    expect(await usage()).toBeLessThan(340)
    await injector.end()
    expect(members(memory)).toEqual([app.pid])
    await expect.poll(usage).toBeLessThan(before + 64)
  })

  it('D12: takes its children with it when it is killed', async () => {
    const cpu = stage.group(join(GROUPS, 'cpu'), 'app')
    app = await stage.container({ groups: [cpu] })
    const injector = await stage.injected(told('cpu-pressure', '--count', '1'))
    expect(members(cpu)).toHaveLength(2)
    injector.kill('SIGKILL')
    await expect.poll(() => members(cpu)).toEqual([app.pid])
  })

  it('cleans up after a killed child, and can start it again', async () => {
    const cpu = stage.group(join(GROUPS, 'cpu'), 'app')
    app = await stage.container({ groups: [cpu] })
    const pulses = ['--pulse-active-duration', '600ms', '--pulse-dormant-duration', '600ms']
    const injector = await stage.injected(told('cpu-pressure', '--count', '10%', ...pulses))
    // Its pulses are short, so it may be dormant.
    const burning = () => members(cpu).find((pid) => pid !== app.pid)
    const kill = () => {
      const pid = burning() ?? expect.unreachable('it is dormant')
      process.kill(pid, 'SIGKILL')
      return pid
    }
    const killed = await vi.waitFor(kill, { timeout: 60_000, interval: 10 })
    await expect.poll(() => members(cpu)).not.toContain(killed)
    await expect.poll(burning).toBeDefined()
    await injector.end()
    expect(members(cpu)).toEqual([app.pid])
  })

  it('D13: throttles the writes of a group to a disk, and restores the previous limits', async () => {
    const blkio = stage.group(join(GROUPS, 'blkio'), 'app')
    app = await stage.container({ groups: [blkio] })
    const limits = () =>
      ['read', 'write'].map((way) => readFileSync(join(blkio, `blkio.throttle.${way}_bps_device`), 'utf8'))
    const before = limits()
    const path = join(stage.folder, 'data')
    const throttles = [
      '--path',
      stage.folder,
      '--write-bytes-per-sec',
      String(MEBIBYTE),
      '--read-bytes-per-sec',
      '104857600',
    ]
    const injector = await stage.injected(told('disk-pressure', ...throttles))
    expect(limits()).toEqual([
      expect.stringMatching(/^\d+:\d+ 104857600\n$/),
      expect.stringMatching(/^\d+:\d+ 1048576\n$/),
    ])
    // At one MiB per second; without a limit it takes some milliseconds.
    const { ms } = await app.does<{ ms: number }>('write', { path, bytes: 3 * MEBIBYTE })
    expect(ms).toBeGreaterThan(1500)
    await injector.end()
    expect(limits()).toEqual(before)
  })

  it('D13: restores a disk limit of another program', async () => {
    const blkio = stage.group(join(GROUPS, 'blkio'), 'app')
    app = await stage.container({ groups: [blkio] })
    const file = join(blkio, 'blkio.throttle.write_bps_device')
    const throttles = ['--path', stage.folder, '--write-bytes-per-sec', '4096']
    const first = await stage.injected(told('disk-pressure', ...throttles))
    const device = readFileSync(file, 'utf8').split(' ')[0] ?? ''
    await first.end()
    write(file, `${device} 123456`)
    const second = await stage.injected(told('disk-pressure', ...throttles))
    expect(readFileSync(file, 'utf8')).toBe(`${device} 4096\n`)
    second.kill('SIGKILL')
    await second.ended
    const sweep = stage.injector(['sweep', '--state', stage.state, '--network-of', String(app.pid)])
    expect(await sweep.ended).toBe(0)
    expect(readFileSync(file, 'utf8')).toBe(`${device} 123456\n`)
  })

  it.each([
    [[], { code: 7, signal: null }],
    [['--forced'], { code: null, signal: 'SIGKILL' }],
  ])('D14: ends a container with the flags %j', async (flags, exit) => {
    app = await stage.container()
    const injector = await stage.injected(told('container-failure', ...flags))
    expect(await app.ended).toEqual(exit)
    await injector.end()
  })

  const noGroup = () => ({ CHAOS_INJECTOR_MOUNT_CGROUP: stage.folder })
  it.each([
    ['disk-failure', ['--path', '/data'], 'Unsupported: disk-failure needs an eBPF program', undefined],
    [
      'network-disruption',
      ['--delay', '10', '--path', '/api'],
      'requests cannot be selected by HTTP method or path, because that needs an eBPF classifier',
      undefined,
    ],
    [
      'memory-pressure',
      ['--target-percent', '60'],
      'Unsupported: the target has no memory limit, so 60% of the limit is undefined; set resources.limits.memory',
      undefined,
    ],
    ['cpu-pressure', ['--count', '30%'], 'the target has no control group for CPU', noGroup],
  ])('D12, D16: says why %s is not injected here, is not ready, and ends well', async (kind, flags, why, env) => {
    app = await stage.container({ groups: [stage.group(join(GROUPS, 'memory'), 'app')] })
    const injector = stage.injector(told(kind, ...flags), { env: env?.() ?? {} })
    await injector.says(why)
    expect(injector.isReady()).toBe(false)
    await injector.end()
  })
})

function told(kind: string, ...flags: readonly string[]): readonly string[] {
  return [kind, '--level', 'pod', '--target-containers', `app;${app.id}`, ...flags]
}

function members(group: string): readonly number[] {
  return readFileSync(join(group, 'cgroup.procs'), 'utf8').trim().split('\n').map(Number)
}

/** The load of all CPUs during a second. */
async function usedShare(file: string, cpus: number): Promise<number> {
  const [used, start] = [Number(readFileSync(file, 'utf8')), process.hrtime.bigint()]
  await expect.poll(() => Number(process.hrtime.bigint() - start)).toBeGreaterThan(1_000_000_000)
  return (Number(readFileSync(file, 'utf8')) - used) / Number(process.hrtime.bigint() - start) / cpus
}

function cpusIn(list: string): number {
  return list.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return sum + last - first + 1
  }, 0)
}

/** Control groups of version 1, as on the machines that build Pawl. */
function noGroups(): string | undefined {
  const lacking = ['cpu', 'cpuacct', 'memory', 'blkio'].filter(
    (name) => !existsSync(join(GROUPS, name, 'cgroup.procs')),
  )
  return lacking.length > 0 ? `no control groups of version 1 for ${lacking.join(', ')}` : undefined
}

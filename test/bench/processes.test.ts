// Tests that ProcessMeter measures the CPU time of real processes and their children, and the memory.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'

import { parseStat, ProcessMeter } from './processes.ts'

// The parent starts a child that uses 0.3 s of CPU time and ends, then waits. The parent itself uses little CPU time.
const BURN = 'while (process.cpuUsage().user < 300_000);'
const PARENT = `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(BURN)}]); console.log('burnt'); setInterval(() => undefined, 1000)`

type Parent = ChildProcessByStdio<null, Readable, null>

const children: Parent[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

describe.skipIf(process.platform !== 'linux')('the meter', () => {
  it('counts the CPU of an ended child, and the memory of the process', async () => {
    const parent = startParent()
    const meter = new ProcessMeter([{ name: 'parent', pid: parent.pid ?? 0 }])
    await once(parent.stdout, 'data')
    const { cpuSeconds, peakMemoryMiB } = meter.end()['parent']!
    expect(cpuSeconds).toBeGreaterThan(0.25)
    expect(peakMemoryMiB).toBeGreaterThan(10)
  })

  it('fails when the process has ended', async () => {
    const parent = startParent()
    const meter = new ProcessMeter([{ name: 'parent', pid: parent.pid ?? 0 }])
    const exited = once(parent, 'exit')
    parent.kill('SIGKILL')
    await exited
    expect(() => meter.end()).toThrow('(parent) has ended')
  })
})

describe('The parser of /proc/PID/stat', () => {
  it('reads a line in which the name of the command looks like fields', () => {
    const text = '7 (a) 1 (b) S 3 7 7 0 -1 4194304 100 0 0 0 10 20 30 40 20 0 1 0 5 0 0'
    expect(parseStat(7, text)).toEqual({ pid: 7, parent: 3, cpuSeconds: 1 })
  })
})

function startParent(): Parent {
  const child = spawn(process.execPath, ['-e', PARENT], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  return child
}

// Replays of recorded runs under a debugger, over Node's inspector protocol.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { DefaultLogger } from '@temporalio/worker'
import { describe, expect, it } from 'vitest'

import { parseInspectAddress, replayInspected } from '../../worker/cli/replay/inspect.ts'
import { bundleCacheFolder, type RecordedRun } from '../../worker/cli/replay/load.ts'
import { bundleEntry } from '../../worker/reconciler/temporal/bundle.ts'
import { deferred } from '../workflows/kit/plan/fake-runtime.ts'
import { Debugger } from './debugger.ts'

const ROOT = join(import.meta.dirname, '../..')
const HISTORIES = join(import.meta.dirname, 'histories')
const INSTALLATION = join(ROOT, 'workflows/landscaper/installation/workflow.ts')
const LOOP = join(ROOT, 'workflows/kit/run/loop/run-job.ts')
const ANY_PORT = parseInspectAddress('0')
const quiet = new DefaultLogger('ERROR', () => undefined)
// Without a debugger, the SDK limits the time of workflow code to 5 s.
const LONGER_THAN_A_TASK_MS = 6_000

describe('a replay under a debugger', () => {
  it('stops at breakpoints in the source of the workflows without a time limit, and continues', async () => {
    const { firstLine, ended } = commanded('installation-success.json')
    const seen = await Debugger.attach(addressIn(await firstLine))
    expect(await seen.paused()).toMatchObject({ file: join(ROOT, 'worker/cli/replay/inspected-process.ts') })
    const first = await seen.breakAt(INSTALLATION, 'const { namespace, name } = input.subject')
    const second = await seen.breakAt(LOOP, 'const pass = root.start(')

    await seen.resume()
    const begun = await seen.paused()
    expect(begun).toMatchObject({ file: INSTALLATION, line: first })
    expect(await begun.evaluate('input.subject.kind')).toBe('Installation')
    await sleep(LONGER_THAN_A_TASK_MS)

    await seen.resume()
    const observed = await seen.paused()
    expect(observed).toMatchObject({ file: LOOP, line: second })
    expect(await observed.evaluate('observed.value.target.name')).toBe('success')

    await seen.resume()
    expect(await ended).toEqual({ exitCode: 0, lastLine: 'The replay has reached the end of the history.' })
  })

  it('continues when the debugger disconnects, and reports how the run differs from its history', async () => {
    const broken = await bundleEntry(join(import.meta.dirname, 'broken.ts'), quiet, {
      cacheDir: bundleCacheFolder(),
    })
    const { told, ended } = inspected(broken.code, 'execution-manifest-failed.json')
    const seen = await Debugger.attach(addressIn(await told))
    await seen.paused()
    seen.detach()
    expect(await ended).toMatch(/'guardSubject' does not match/)
  })

  it('reports a port that is in use', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const { ended } = inspected('', 'installation-success.json', parseInspectAddress(String(port)))
    await expect(ended).rejects.toThrow(
      `--inspect: port ${port} of 127.0.0.1 cannot be opened; choose another port, or any free port with --inspect=0`,
    )
    server.close()
  })
})

describe('--inspect', () => {
  it.each([
    [true, { host: '127.0.0.1', port: 9229 }],
    ['9300', { host: '127.0.0.1', port: 9300 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['[::1]:9300', { host: '::1', port: 9300 }],
  ] as const)('takes %s', (given, address) => {
    expect(parseInspectAddress(given)).toEqual(address)
  })

  it.each([
    ['inst/shop', '--inspect: "inst/shop" is no address; expected a port or HOST:PORT such as 127.0.0.1:9229'],
    ['70000', '--inspect: "70000" is no address; expected a port or HOST:PORT such as 127.0.0.1:9229'],
    ['0.0.0.0:9229', '--inspect: host "0.0.0.0" is not this machine; expected one of 127.0.0.1, localhost, [::1], ::1'],
  ])('rejects %s', (given, message) => {
    expect(() => parseInspectAddress(given)).toThrow(message)
  })
})

/** Runs the command in a new process on a recorded run. */
function commanded(file: string) {
  const args = ['replay', '--file', join(HISTORIES, file), '--inspect=0']
  const child = spawn(process.execPath, [join(ROOT, 'worker/cli.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  const reader = createInterface(child.stdout).on('line', (line) => lines.push(line))
  const firstLine = once(reader, 'line').then(() => lines[0] ?? '')
  const ended = once(child, 'close').then(([exitCode]: unknown[]) => ({ exitCode, lastLine: lines.at(-1) }))
  return { firstLine, ended }
}

const LISTENS = /^The replay waits for a debugger at (ws:\/\/127\.0\.0\.1:\d+\/\S+)$/

function addressIn(line: string): string {
  return LISTENS.exec(line)?.[1] ?? `no address in '${line}'`
}

/** @returns the first line of output for the user, and the result of the replay. */
function inspected(code: string, file: string, address = ANY_PORT) {
  const { workflowId, history } = JSON.parse(readFileSync(join(HISTORIES, file), 'utf8')) as {
    workflowId: string
    history: { events: RecordedRun['events'] }
  }
  const first = deferred<string>()
  const run = { workflowId, events: history.events }
  const ended = replayInspected([run], { code, payloadKeyPath: undefined }, address, first.resolve)
  ended.catch(() => first.resolve('it ended'))
  return { told: first.promise, ended }
}

// Replays a run under a debugger: a child process stops after the workflows are loaded, and continues when the debugger
// resumes it.
//
//   I1. The inspector listens on a loopback address only, because a debugger can run code as the user.
//   I2. History and code are sent over the IPC channel of the process and never written to files.
//   I3. A paused run may take any time; no workflow task timeout ends it.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

import proto from '@temporalio/proto'

import { modulePath } from '../../server/config.ts'
import { onSignals } from '../../server/process.ts'
import { UsageError } from '../../server/usage-error.ts'
import { replayable, replayObstacle } from './history-events.ts'
import type { InspectorMessage, RunsToInspect } from './inspected-process.ts'
import { type CodeFlags, codeOf, type LoadedJob, type RecordedRun } from './load.ts'
import { type RecordOptions, requireKeys } from './record.ts'
import { replayFailure } from './show-job.ts'

const { History } = proto.temporal.api.history.v1

interface InspectAddress {
  /** A loopback address. */
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
}

const HOST = '127.0.0.1'
/** Chrome and VS Code use this port by default. */
const PORT = 9229
const LOOPBACK = [HOST, 'localhost', '[::1]', '::1']

/**
 * @param given the flag's value; `true` without a value. @throws UsageError for an invalid port or another address
 * (I1).
 */
export function parseInspectAddress(given: string | true): InspectAddress {
  if (given === true) return { host: HOST, port: PORT }
  const [, host = HOST, digits = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(given) ?? []
  const port = Number(digits)
  if (digits === '' || port > 65535)
    throw new UsageError(`--inspect: "${given}" is no address; expected a port or HOST:PORT such as ${HOST}:${PORT}`)
  if (!LOOPBACK.includes(host))
    throw new UsageError(
      `--inspect: host "${host}" is not this machine; expected one of ${LOOPBACK.join(', ')}, because every client of a debugger can run code as you; forward the port to debug from another machine`,
    )
  return { host: host.replace(/[[\]]/g, ''), port }
}

/** `pawl replay --inspect`. @throws an Error if the replay differs from the history. */
export async function inspectJob(
  job: LoadedJob,
  flags: CodeFlags & { readonly inspect: string | true },
  payloadKeyPath: string | undefined,
): Promise<void> {
  const address = parseInspectAddress(flags.inspect)
  const runs = [...job.earlier, job]
  for (const run of runs) {
    const obstacle = replayObstacle(run.events)
    if (obstacle !== undefined) throw replayFailure(run, obstacle)
    requireKeys(run, payloadKeyPath)
  }
  const code = await codeOf(flags)
  const problem = await replayInspected(runs, { code, payloadKeyPath }, address, (line) =>
    process.stdout.write(`${line}\n`),
  )
  if (problem !== undefined) throw new Error(problem)
  process.stdout.write('The replay has reached the end of the history.\n')
}

/**
 * Replays the runs of a job under a debugger; resolves after the last run or the first failure.
 *
 * @param print called with each line for the user.
 * @returns the failure; undefined if all runs were replayed.
 * @throws an Error if the inspector cannot listen, or the process ends before the replay does.
 */
export async function replayInspected(
  runs: readonly RecordedRun[],
  { code, payloadKeyPath }: RecordOptions,
  address: InspectAddress,
  print: (line: string) => void,
): Promise<string | undefined> {
  const child = fork(modulePath('cli/replay/inspected-process.ts'), [], {
    serialization: 'advanced',
    execArgv: EXEC_ARGV,
  })
  onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => child.kill(signal))
  const given: RunsToInspect = {
    runs: runs.map(({ workflowId, events }) => ({
      workflowId,
      history: History.encode(History.fromObject({ events: replayable(events) })).finish(),
    })),
    code,
    payloadKeyPath,
    ...address,
  }
  const [, end] = await Promise.all([
    new Promise<void>((resolve, reject) => {
      child.send(given, (error) => {
        if (error === null) resolve()
        else reject(error)
      })
    }),
    endOf(child, (url) => attachInstructions(url).forEach(print)),
  ])
  return end
}

/** Returns the failure in the process's last message. @throws the error in that message. */
async function endOf(child: ChildProcess, listening: (url: string) => void): Promise<string | undefined> {
  let last: Exclude<InspectorMessage, { told: 'listening' }> | undefined
  child.on('message', (message: InspectorMessage) => {
    if (message.told === 'listening') listening(message.url)
    else last = message
  })
  // The channel may deliver the last message after the exit event.
  const [exit] = await Promise.all([once(child, 'exit'), once(child, 'disconnect')])
  const [code, signal] = exit as [number | null, NodeJS.Signals | null]
  if (last === undefined) throw new Error(`the replay process ended early: ${signal ?? `exit code ${code ?? 0}`}`)
  if (last.told === 'failed') throw new Error(last.why)
  return last.problem
}

// Workflows are TypeScript in a checkout; the debugger reads the source maps.
const EXEC_ARGV = ['--disable-warning=ExperimentalWarning']

function attachInstructions(url: string): string[] {
  const { host } = new URL(url)
  return [
    `The replay waits for a debugger at ${url}`,
    `  Chrome    chrome://inspect, Configure..., ${host}, then inspect "pawl replay"`,
    `  VS Code   Debug: Attach to Node Process, or a launch configuration with "request": "attach", "port": ${host.replace(/^.*:/, '')}`,
    'It stops before the first event, when the sources of the workflows are known: set breakpoints in workflows/, then resume.',
  ]
}

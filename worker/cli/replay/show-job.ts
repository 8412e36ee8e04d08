// Replays one job and prints it: page by page on a terminal, otherwise all pages or JSON.

import { emitKeypressEvents, type Key } from 'node:readline'

import { writeJson } from '../../../workflows/kit/index.ts'
import { ansiPaint, formatTime, plainPaint, singleLine } from '../query/format.ts'
import { type CodeFlags, codeOf, type LoadedJob } from './load.ts'
import { openTaskFailure, type ReplayObstacle, replayObstacle } from './history-events.ts'
import { type Recording, recordRuns } from './record.ts'
import { replayedJob, upTo } from './replayed-job.ts'
import { headText, passText } from './job-text.ts'
import { EXACT_TIMES } from './passes.ts'

interface ShowFlags extends CodeFlags {
  /** The next useful commands: after a bug in the code, and otherwise; undefined for a job in a file. */
  readonly next?: { readonly afterBug: string; readonly inspect: string } | undefined
  readonly to?: string
  /** Time limit of the replay of each run in milliseconds. */
  readonly limitMs?: number | undefined
  readonly output: 'text' | 'wide' | 'json'
}

/** @throws an Error with the reason if no pass of the job can be replayed. */
export async function showJob(job: LoadedJob, flags: ShowFlags, payloadKeyPath: string | undefined): Promise<void> {
  const recordings = await recordJob(job, flags, payloadKeyPath)
  const isWide = flags.output !== 'text'
  const now = new Date()
  const times = isWide ? EXACT_TIMES : { format: (at: Date) => formatTime(at, now), isWide }
  const replayed = replayedJob(job, recordings, times)
  const passes = flags.to === undefined ? replayed.passes : upTo(replayed, flags.to)
  if (flags.output === 'json') {
    process.stdout.write(`${writeJson({ ...replayed, passes }, 2)}\n`)
    return
  }
  const paint = process.stdout.isTTY && process.stdout.hasColors() ? ansiPaint : plainPaint
  const options = { paint, isWide, now }
  const pages = passes.map((one) => passText(one, replayed.passes.length, options))
  process.stdout.write(headText(replayed, options))
  if (pages.length > 1 && process.stdin.isTTY && process.stdout.isTTY)
    await stepThrough(
      passes.map(({ pass }) => pass),
      (index) => pages[index] ?? '',
    )
  else process.stdout.write(pages.join(''))
  const { next } = flags
  if (next !== undefined)
    process.stdout.write(`\nnext: ${openTaskFailure(job.events) === undefined ? next.inspect : next.afterBug}\n`)
}

async function recordJob(
  job: LoadedJob,
  flags: Pick<ShowFlags, keyof CodeFlags | 'limitMs'>,
  payloadKeyPath: string | undefined,
): Promise<readonly Recording[]> {
  const runs = [...job.earlier, job]
  // Without a replayable run, the workflows need not be loaded.
  const obstacle = runs.some(({ events }) => replayObstacle(events) === undefined)
    ? undefined
    : replayObstacle(job.events)
  if (obstacle !== undefined) throw replayFailure(job, obstacle)
  const code = await codeOf(flags)
  const recordings: Recording[] = []
  for await (const one of recordRuns({ code, payloadKeyPath, limitMs: flags.limitMs }, runs)) recordings.push(one)
  const last = recordings.at(-1)
  const isEmpty = recordings.every(({ entries }) => !entries.some((entry) => entry.told === 'pass'))
  if (last?.error !== undefined && last.advice !== undefined && isEmpty)
    throw replayFailure(job, { error: last.error, advice: last.advice })
  return recordings
}

/** For a run of which no pass can be replayed. */
export function replayFailure({ workflowId }: Pick<LoadedJob, 'workflowId'>, { error, advice }: ReplayObstacle): Error {
  return new Error(singleLine(`run "${workflowId}": ${error}; ${advice}`, 2000))
}

/** The state of the pager on a terminal. */
export interface StepperState {
  /** Digits typed since the last key. */
  readonly typed: string
  readonly at: number
}

const KEYS = 'n: next, p: previous, a number and Enter: that pass, q: quit'

const ENTER: readonly string[] = ['return', 'enter']
const MOVES = new Map<string, (at: number, last: number) => number>([
  ...['n', 'j', 'right', 'down', 'space', ...ENTER].map((name) => [name, (at: number) => at + 1] as const),
  ...['p', 'k', 'left', 'up'].map((name) => [name, (at: number) => at - 1] as const),
  ...['g', 'home'].map((name) => [name, () => 0] as const),
  ...['G', 'end'].map((name) => [name, (_: number, last: number) => last] as const),
])
const ENDS: readonly string[] = ['q', 'escape']
/** Ctrl-C and Ctrl-D; a terminal in raw mode sends them as characters. */
const END_CODES: readonly string[] = ['\u0003', '\u0004']

/** Handles one key. Pure. @param numbers of the passes, in order. @returns undefined to quit. */
export function nextState({ at, typed }: StepperState, key: Key, numbers: readonly number[]): StepperState | undefined {
  const { name = '', sequence = '' } = key
  if (ENDS.includes(name) || END_CODES.includes(sequence)) return undefined
  if (/^\d$/.test(sequence)) return { at, typed: `${typed}${sequence}` }
  if (name === 'backspace') return { at, typed: typed.slice(0, -1) }
  if (typed !== '' && ENTER.includes(name)) return { at: placeOf(Number(typed), numbers, at), typed: '' }
  const last = numbers.length - 1
  const moved = (MOVES.get(sequence) ?? MOVES.get(name))?.(at, last)
  return moved === undefined ? { at, typed } : { at: Math.max(0, Math.min(last, moved)), typed: '' }
}

/** Returns the present position if the job has no such pass. */
function placeOf(pass: number, numbers: readonly number[], at: number): number {
  const found = numbers.indexOf(pass)
  return found < 0 ? at : found
}

/** Shows pages until the user quits. */
async function stepThrough(numbers: readonly number[], page: (index: number) => string): Promise<void> {
  const { stdin, stdout } = process
  let steps: StepperState = { at: 0, typed: '' }
  const show = () => stdout.write(`${page(steps.at)}\n`)
  const ask = () => stdout.write(`\r\x1b[K${KEYS} > ${steps.typed}`)
  emitKeypressEvents(stdin)
  stdin.setRawMode(true)
  stdin.resume()
  show()
  ask()
  try {
    await new Promise<void>((done) => {
      stdin.on('end', done)
      stdin.on('keypress', (_text: string | undefined, key: Key) => {
        const next = nextState(steps, key, numbers)
        if (next === undefined) {
          done()
          return
        }
        const isMoved = next.at !== steps.at
        steps = next
        if (isMoved) {
          stdout.write('\r\x1b[K')
          show()
        }
        ask()
      })
    })
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    stdout.write('\n')
  }
}

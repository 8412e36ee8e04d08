// Formats a replayed job as text: a header, and one page per pass. Pure.

import { describeTrace, type TracedStep } from '../../../workflows/kit/index.ts'
import { formatSpan, formatTime, colourOf, errorText, formatDuration, type Paint, singleLine } from '../query/format.ts'
import type { RowOfWrite } from './job-rows.ts'
import type { ReplayedCall, ReplayedPass, ReplayedPlan, SeenObject } from './passes.ts'
import type { ReplayedJob } from './replayed-job.ts'

export interface ReplayTextOptions {
  readonly paint: Paint
  /** Adds exact times and IDs. */
  readonly isWide: boolean
  readonly now: Date
}

export function headText(
  { object, jobID, state, passes, notes, workflowId, runID }: ReplayedJob,
  { paint, isWide }: ReplayTextOptions,
): string {
  const count = `${passes.length} ${passes.length === 1 ? 'pass' : 'passes'}`
  const error = withoutRepeatedPhase(passes.at(-1)?.ended ?? '', state)
  const ids = [...(jobID === '' ? [] : [`job ${jobID}`]), `workflow ${workflowId}`, `run ${runID}`]
  return [
    `${paint('bold', singleLine(object))}: ${paint(colourOf(state), singleLine(state))} after ${count}${error === '' ? '' : `: ${error}`}\n`,
    ...(isWide ? ids.map((id) => paint('dim', `${singleLine(id)}\n`)) : []),
    ...notes.map((note) => `${paint('yellow', 'note:')} ${singleLine(note, 2000)}\n`),
  ].join('')
}

/** The error with which the run ended; empty if it ended with the phase. */
function withoutRepeatedPhase(ended: string, state: string): string {
  return ended === state ? '' : (errorText({ message: ended }) ?? '')
}

export function passText(one: ReplayedPass, last: number, { paint, isWide, now }: ReplayTextOptions): string {
  const { pass, at, until, wokenBy, plans, calls, writes, ended } = one
  const title = `pass ${pass} of ${last}`
  return [
    `\n${paint('bold', title)}  at ${isWide ? at.toISOString() : formatTime(at, now)}, took ${formatSpan(at, until)}\n`,
    ...section('woken by', wokenBy),
    ...section('saw', seenBefore(calls).map(seenText)),
    ...plans.flatMap((plan) => planText(plan, { paint, isWide })),
    ...section(
      'calls',
      calls.map((call) => callText(call, paint)),
    ),
    ...section(
      'writes',
      writes.map((write) => writeText(write, paint)),
    ),
    ...section('result', [resultText(one)]),
    ...(ended === undefined ? [] : section('ended', [paint(colourOf(ended), errorText({ message: ended }) ?? '')])),
  ].join('')
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.map((line, index) => `${(index === 0 ? title : '').padEnd(9)} ${line}\n`)
}

/** The objects that the pass observed before its plans ran. */
function seenBefore(calls: readonly ReplayedCall[]): readonly SeenObject[] {
  return calls
    .filter(({ action, name }) => action === undefined && !name.startsWith('settle'))
    .flatMap(({ saw }) => saw)
}

function seenText({ kind, name, version, phase }: SeenObject): string {
  const what = [kind, name].filter((word) => word !== undefined && word !== '').join(' ')
  const facts = [
    ...(version === undefined ? [] : [`version ${version}`]),
    ...(phase === undefined ? [] : [`phase ${phase}`]),
  ]
  return singleLine(`${what}${facts.length === 0 ? '' : `  ${facts.join(', ')}`}`, 300)
}

function planText(
  { subject, phase, trace }: ReplayedPlan,
  { paint, isWide }: Pick<ReplayTextOptions, 'paint' | 'isWide'>,
): readonly string[] {
  const of =
    subject === undefined
      ? 'plan'
      : `${subject.kind} ${subject.namespace === '' ? '' : `${subject.namespace}/`}${subject.name}`
  const title = `${of}${phase === undefined ? '' : `, phase ${phase}`}`
  const drawn =
    trace === undefined
      ? ['no end in the history yet: the plan waits for a call below']
      : describeTrace(withoutRepeatedTexts(trace), { isExact: isWide })
          .split('\n')
          .map((line) => paintLine(line, paint))
  return section('plan', [singleLine(title), ...drawn])
}

/** Groups repeat the texts of their leaves, so only leaves keep theirs. */
function withoutRepeatedTexts({ said, children, ...step }: TracedStep): TracedStep {
  return {
    ...step,
    ...(said !== undefined && children.length === 0 && { said }),
    children: children.map(withoutRepeatedTexts),
  }
}

function paintLine(line: string, paint: Paint): string {
  const text = singleLine(line, 1000).replace(/^/, indentOf(line))
  if (line.includes('✗ ')) return paint('red', text)
  return line.includes('– ') ? paint('dim', text) : text
}

/** The indentation, which `singleLine` removes. */
function indentOf(line: string): string {
  return /^ */.exec(line)?.[0] ?? ''
}

const NO_ANSWER =
  'no answer in the history yet: the call runs, or its workflow task has not completed; pawl why shows its state'

function callText({ summary, action, isLocal, answer, saw }: ReplayedCall, paint: Paint): string {
  const by = action === undefined ? '' : ` (by ${action})`
  const place = isLocal ? '' : ', a separate task'
  const what = `${summary}${by}${place}`
  if (answer === undefined) return `${singleLine(what)} -> ${paint('yellow', NO_ANSWER)}`
  if (answer === 'done')
    return `${singleLine(what)} -> ${saw.length === 0 ? 'done' : saw.slice(0, 3).map(seenText).join('; ')}${saw.length > 3 ? `; and ${saw.length - 3} more` : ''}`
  const { type, message } = answer.failure
  return `${singleLine(what)} -> ${paint('red', `${singleLine(type)}: ${errorText({ message }) ?? ''}`)}`
}

function writeText({ verb, object, step, version, error, tookMs }: RowOfWrite, paint: Paint): string {
  const took = tookMs === undefined ? '' : `, ${formatDuration(tookMs)}`
  let answer = tookMs === undefined ? 'no answer' : 'done'
  if (version !== undefined) answer = `version ${version}`
  if (error !== undefined) answer = paint('red', singleLine(error, 500))
  return `${singleLine(`${verb} ${object} (${step})`, 400)} -> ${answer}${took}`
}

function resultText({ calls, ended }: ReplayedPass): string {
  const settle = calls.find(({ name }) => name === 'settle' || name === 'settleLevel')
  if (settle !== undefined) return singleLine(settle.summary)
  // In level mode a run ends without a settle; calls and writes show the status.
  const end = calls.find(({ name }) => name === 'endLevel')
  if (end !== undefined) return `${singleLine(end.summary)}; no further pass is due`
  return ended === undefined ? 'no change of the status' : 'no status to write'
}

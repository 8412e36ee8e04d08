// Records the outcomes of a plan's steps with hooks, as plain data, and draws them like the plan (describe.ts), for
// tests and replays. RFC: "Debug tool for visualizing the workflow".
//
//   T1. A step is identified by object identity: one value at two places of a plan is one step, and shows as run at both places.
//   T2. For a step with several runs (`retry`) the trace contains the last run and the number of runs.

import { branches, type DrawnStep, flowchart } from './describe.ts'
import { durationText } from './duration-text.ts'
import type { Outcome } from './outcome.ts'
import type { StepHooks } from './step.ts'

/** `unended`: cancelled while it ran (`timeout`). */
export type StepMark = 'ok' | 'fault' | 'thrown' | 'unended' | 'skipped'

/** A step with its outcome, as JSON-safe data. */
export interface TracedStep {
  readonly name: string
  readonly mark: StepMark
  /** The outcome as text, unless it was `done`. Delays are exact: `again in 5400000 ms`. */
  readonly said?: string
  /** The number of runs, if more than one. */
  readonly runs?: number
  readonly children: readonly TracedStep[]
}

/** Records a pass: give its `hooks` to `runStep` or `runPass`. */
export interface StepRecorder {
  /** Hooks for `runStep`, alone or in addition to a controller's hooks. */
  readonly hooks: Required<StepHooks>
  /** The recorded outcomes so far. */
  trace(): TracedStep
}

interface Ran {
  readonly runs: number
  readonly result: Outcome | { readonly thrown: unknown } | undefined
}

/** Records the steps of a plan. */
export function recordSteps(plan: DrawnStep): StepRecorder {
  const ran = new Map<object, Ran>()
  const runsOf = (step: object) => ran.get(step)?.runs ?? 0
  const traced = (step: DrawnStep): TracedStep => {
    const { name, children } = step
    return { name, ...traceFields(ran.get(step)), children: children.map(traced) }
  }
  return {
    hooks: {
      before: (step) => void ran.set(step, { runs: runsOf(step) + 1, result: undefined }),
      after: (step, result) => void ran.set(step, { runs: runsOf(step), result }),
    },
    trace: () => traced(plan),
  }
}

function traceFields(ran: Ran | undefined): Omit<TracedStep, 'name' | 'children'> {
  if (ran === undefined) return { mark: 'skipped' }
  const { runs, result } = ran
  const often = runs > 1 ? { runs } : {}
  if (result === undefined) return { mark: 'unended', ...often }
  if ('thrown' in result) return { mark: 'thrown', said: String(result.thrown), ...often }
  const said = saidBy(result)
  return { mark: result.faults.length > 0 ? 'fault' : 'ok', ...(said !== '' && { said }), ...often }
}

/** Empty for `done`. */
export function saidBy({ faults, againMs, stopped }: Outcome): string {
  const wish = againMs === 0 ? 'again at once' : `again in ${againMs ?? 0} ms`
  return [
    ...faults.map(({ code, message, retryable }) => `${code}: ${message} (${retryable ? 'tried again' : 'final'})`),
    ...(stopped === undefined ? [] : [`stops: ${stopped}`]),
    ...(againMs === undefined ? [] : [wish]),
  ].join('; ')
}

/** How a drawn trace shows delays. */
export interface TraceTextOptions {
  /** Delays in milliseconds: `again in 5400000 ms`. Default: rounded, `again in 1 h 30 min`. */
  readonly isExact?: boolean
}

/** The trace as a text tree, one step per line: ✓ ran, ✗ failed, – did not run. */
export function describeTrace(trace: TracedStep, { isExact = false }: TraceTextOptions = {}): string {
  const drawn = labelled(trace, (step) => `${SIGNS[step.mark]} ${lineOf(step, isExact)}`)
  return [drawn.name, ...branches(drawn.children, '')].join('\n')
}

/** The trace as a Mermaid flowchart like `toMermaid`: green ran, red failed, dashed did not run. */
export function traceToMermaid(trace: TracedStep): string {
  const drawn = labelled(trace, (step) => `${SIGNS[step.mark]} ${lineOf(step)}`)
  const marks = inOrder(trace).map(({ mark }, index) => `  class s${index} ${CLASSES[mark]}`)
  return ['flowchart TD', ...flowchart(drawn, 's'), ...STYLES, ...marks].join('\n')
}

const SIGNS: Readonly<Record<StepMark, string>> = { ok: '✓', fault: '✗', thrown: '✗', unended: '✗', skipped: '–' }
const CLASSES: Readonly<Record<StepMark, string>> = {
  ok: 'ran',
  skipped: 'skipped',
  fault: 'wrong',
  thrown: 'wrong',
  unended: 'wrong',
}
const STYLES = [
  '  classDef ran stroke:#2da44e',
  '  classDef wrong stroke:#cf222e,stroke-width:2px',
  '  classDef skipped stroke-dasharray:4 4,opacity:0.6',
]

function lineOf({ name, mark, said, runs }: TracedStep, isExact = false): string {
  const often = runs === undefined ? '' : ` (${runs} runs)`
  const result = resultText(mark, isExact ? said : said?.replace(EXACT_DELAY, roundedDelay))
  return `${name}${often}${result === undefined ? '' : `: ${result}`}`
}

/** The delay at the end of an outcome's text (`saidBy`). */
const EXACT_DELAY = /\bagain in (\d+(?:\.\d+)?) ms$/

function roundedDelay(_text: string, ms: string): string {
  return `again in ${durationText(Math.round(Number(ms)))}`
}

function resultText(mark: StepMark, said: string | undefined): string | undefined {
  if (mark === 'thrown') return `threw ${said ?? ''}`
  return mark === 'unended' ? 'did not end' : said
}

function labelled(step: TracedStep, label: (step: TracedStep) => string): DrawnStep {
  return { name: label(step), children: step.children.map((child) => labelled(child, label)) }
}

/** In the order of the flowchart's numbers. */
function inOrder(step: TracedStep): readonly TracedStep[] {
  return [step, ...step.children.flatMap(inOrder)]
}

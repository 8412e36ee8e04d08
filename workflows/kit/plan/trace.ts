// Which steps of a plan ran, with which outcome: recorded by hooks, as plain data, and drawn as the plan is (describe.ts). RFC: "Debug tool
// for visualizing the workflow", for test cases.
//
//   T1. A step is known by its identity: one value at two places of a plan is one step, and ran at both when it ran at one.
//   T2. Of a step that ran several times (`retry`) the last run is told, and how many there were.

import { branches, type DrawnStep, flowchart } from './describe.ts'
import type { Outcome } from './outcome.ts'
import type { StepHooks } from './step.ts'

/** `unended`: it was given up while it ran (`timeout`). */
export type StepMark = 'ok' | 'fault' | 'thrown' | 'unended' | 'skipped'

/** A step with what came of it; plain data, so it can be kept as JSON. */
export interface TracedStep {
  readonly name: string
  readonly mark: StepMark
  /** What it reported, unless it was `done`. */
  readonly said?: string
  /** How often it ran, when it was more than once. */
  readonly runs?: number
  readonly children: readonly TracedStep[]
}

export interface StepRecorder {
  /** For `runStep`, or beside those of a controller. */
  readonly hooks: Required<StepHooks>
  /** What has happened so far. */
  trace(): TracedStep
}

interface Ran {
  readonly runs: number
  readonly result: Outcome | { readonly thrown: unknown } | undefined
}

/** Records what the steps of a plan do. */
export function recordSteps(plan: DrawnStep): StepRecorder {
  const ran = new Map<object, Ran>()
  const runsOf = (step: object) => ran.get(step)?.runs ?? 0
  const traced = (step: DrawnStep): TracedStep => {
    const { name, children } = step
    return { name, ...told(ran.get(step)), children: children.map(traced) }
  }
  return {
    hooks: {
      before: (step) => void ran.set(step, { runs: runsOf(step) + 1, result: undefined }),
      after: (step, result) => void ran.set(step, { runs: runsOf(step), result }),
    },
    trace: () => traced(plan),
  }
}

function told(ran: Ran | undefined): Omit<TracedStep, 'name' | 'children'> {
  if (ran === undefined) return { mark: 'skipped' }
  const { runs, result } = ran
  const often = runs > 1 ? { runs } : {}
  if (result === undefined) return { mark: 'unended', ...often }
  if ('thrown' in result) return { mark: 'thrown', said: String(result.thrown), ...often }
  const said = saidBy(result)
  return { mark: result.faults.length > 0 ? 'fault' : 'ok', ...(said !== '' && { said }), ...often }
}

/** Empty: it was `done`. */
export function saidBy({ faults, againMs, stopped }: Outcome): string {
  const wish = againMs === 0 ? 'again at once' : `again in ${againMs ?? 0} ms`
  return [
    ...faults.map(({ code, message, retryable }) => `${code}: ${message} (${retryable ? 'tried again' : 'final'})`),
    ...(stopped === undefined ? [] : [`stops: ${stopped}`]),
    ...(againMs === undefined ? [] : [wish]),
  ].join('; ')
}

/** The trace as a text tree, one step a line: ✓ ran, ✗ went wrong, – did not run. */
export function describeTrace(trace: TracedStep): string {
  const drawn = labelled(trace, (step) => `${SIGNS[step.mark]} ${lineOf(step)}`)
  return [drawn.name, ...branches(drawn.children, '')].join('\n')
}

/** The trace as a Mermaid flowchart, as `toMermaid` draws the plan: green ran, red went wrong, dashed did not run. */
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

function lineOf({ name, mark, said, runs }: TracedStep): string {
  const often = runs === undefined ? '' : ` (${runs} runs)`
  const what = mark === 'thrown' ? `threw ${said ?? ''}` : mark === 'unended' ? 'did not end' : said
  return `${name}${often}${what === undefined ? '' : `: ${what}`}`
}

function labelled(step: TracedStep, label: (step: TracedStep) => string): DrawnStep {
  return { name: label(step), children: step.children.map((child) => labelled(child, label)) }
}

/** In the order in which a flowchart numbers them. */
function inOrder(step: TracedStep): readonly TracedStep[] {
  return [step, ...step.children.flatMap(inOrder)]
}

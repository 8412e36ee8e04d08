// The report around a scenario's sections: machine, yardsticks, failures. Markdown.

import { figure, markdownTable } from './markdown.ts'
import type { Machine } from './machine.ts'
import type { Yardsticks, YardsticksOfRun } from './yardsticks.ts'

export interface Report {
  readonly scenario: string
  readonly startedAt: Date
  readonly machine: Machine
  /** Of the machine at start and end, over one minute. */
  readonly loads: readonly [before: number, after: number]
  readonly yardsticks: YardsticksOfRun | undefined
  readonly failures: readonly string[]
  readonly sections: readonly string[]
}

export function writeReport(report: Report): string {
  const { scenario, startedAt, machine, loads, yardsticks, failures, sections } = report
  const minutes = (Date.now() - startedAt.getTime()) / 60_000
  const about = [
    `- measured ${startedAt.toISOString()}, ${figure(minutes)} minutes`,
    `- ${machine.cores} cores of ${machine.processor}, ${machine.memoryMiB} MiB, Node ${machine.node}`,
    `- load before ${figure(loads[0])}, after ${figure(loads[1])}`,
  ]
  const failed = failures.length === 0 ? [] : [`## DID NOT COMPLETE\n\n${failures.map((one) => `- ${one}`).join('\n')}`]
  const sticks = yardsticks === undefined ? [] : [yardstickSection(yardsticks)]
  return `${[`# Bench: ${scenario}\n\n${about.join('\n')}`, ...failed, ...sticks, ...sections].join('\n\n')}\n`
}

const YARDSTICKS: readonly (readonly [title: string, of: (found: Yardsticks) => number])[] = [
  ['API writes per second (16 at once)', ({ writes }) => writes.perSecond],
  ['... CPU of API server, etcd and client per write, ms', ({ writes }) => writes.coreMs],
  ['no-op workflows per second (50 at once, eager)', ({ noOp }) => noOp.perSecond],
  ['... CPU of Temporal per workflow, ms', ({ noOp }) => noOp.coreMs],
  ['workflows of one local activity per second', ({ oneLocalActivity }) => oneLocalActivity.perSecond],
  ['... CPU of Temporal per workflow, ms', ({ oneLocalActivity }) => oneLocalActivity.coreMs],
  ['cores that the idle set uses', ({ idleCores }) => idleCores],
]

function yardstickSection({ before, after }: YardsticksOfRun): string {
  const rows = YARDSTICKS.map(([title, of]) => [title, figure(of(before)), figure(of(after))])
  return `## Yardsticks\n\n${markdownTable(['', 'before', 'after'], rows)}`
}

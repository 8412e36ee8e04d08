// How the passes of jobs and groups are settled: one conditional status write with the next due time, or nothing at all.
//
//   S1. A pass that changed nothing and wants no other one writes nothing.
//   S2. What ends a job is written in one settle, which also closes the run's row.

import type { JobInput } from '../job.ts'
import type { HostedEnd } from '../status-change.ts'
import type { By } from '../subject.ts'
import type { NextPass } from '../next-pass.ts'
import { type ChildChange, hostedPart, type SettleActivities, tellHosted } from '../settle.ts'
import type { SettledTarget, StatusChange } from '../status-change.ts'
import { SETTLE_TOLD } from '../summaries.ts'
import type { Course, PassReport, Settled, Wakes } from './loop.ts'
import { insistentActivities } from './temporal.ts'

export interface JobReport extends PassReport {
  readonly change?: StatusChange | undefined
  /** Of the children that the run hosts. */
  readonly hosted?: readonly HostedEnd[]
  /** Work goes on beside the passes, in activities that wait for the end of the workflow task. */
  readonly isBusy?: boolean
  /** Takes the target as settle left it. */
  settled?(target: Partial<SettledTarget>): void
}

/** The course of a run whose passes come to such reports. */
export function jobCourse(
  input: JobInput,
  wakes: Wakes,
  passes: Pick<Course<JobReport>, 'runPass' | 'failure' | 'leave' | 'found'>,
): Course<JobReport> {
  const { settle, endRun } = insistentActivities<SettleActivities>(SETTLE_TOLD)
  let gone: readonly Pick<ChildChange, 'by' | 'subject'>[] = []
  const settlePass = async (by: By, report: JobReport, next: NextPass): Promise<Settled> => {
    const { change, result, hosted } = report
    const part = hostedPart(input.subject, hosted)
    gone = (hosted ?? []).filter(({ isGone }) => isGone).map((child) => ({ by: child.by, subject: child.subject }))
    const lingers = isAtRest(report, wakes)
    const againMs = result === undefined ? next.againMs : undefined
    const isClosed = change?.finished === true
    const isNothing = change === undefined && part.children === undefined
    if (isNothing && againMs === undefined && !lingers) return { result, isClosed }
    const settled = await settle({ ...by, ...input, ...next, ...part, change, againMs, lingers })
    switch (settled.result) {
      case 'superseded':
        return { result: 'Superseded', isClosed: false }
      case 'overtaken':
        wakes.wake()
        return { result: undefined, isClosed: false }
      case 'settled':
        report.settled?.(settled.target)
        tellHosted(hosted, settled.children)
        if (settled.woken) wakes.wake()
        return { result, isClosed }
    }
  }
  return {
    ...passes,
    settle: settlePass,
    close: async (by, outcome) => await endRun({ ...by, ...input, outcome, ...(gone.length > 0 && { gone }) }),
    endsWoken: true,
  }
}

/** A run that waits for a change may see it come; one that met a fault, or whose activities are to be sent, gives its task back. */
function isAtRest({ outcome, result, isBusy = false }: JobReport, wakes: Wakes): boolean {
  return result === undefined && outcome.faults.length === 0 && outcome.againMs !== 0 && !isBusy && !wakes.isWoken()
}

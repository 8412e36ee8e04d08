// The output of `pawl plan show` and `pawl plan list`. Pure.

import {
  BEFORE_END,
  describe,
  groupKindText,
  type JobPlan,
  phasesToMermaid,
  toJson,
  toMermaid,
  tableLines,
} from '../../workflows/kit/index.ts'
import { isShared, type NamedKind, namesOf, type PlannedKind } from './find-plans.ts'

export const PLAN_FORMATS = ['text', 'mermaid', 'json'] as const
export type PlanFormat = (typeof PLAN_FORMATS)[number]

/**
 * The plan of a kind, ending with a newline.
 *
 * @param all the known plans. When the kind has several controllers, the title names the controller.
 */
export function drawPlan(planned: PlannedKind, format: PlanFormat, all: readonly PlannedKind[] = []): string {
  switch (format) {
    case 'text':
      return `${inWords(planned, isShared(planned, all))}\n`
    case 'mermaid':
      return `${planned.phases === undefined ? toMermaid(planned.step) : phasesToMermaid(planned.phases)}\n`
    case 'json':
      return `${JSON.stringify(asData(planned), null, 2)}\n`
  }
}

/**
 * A line for each kind: its name, with the group when the name is ambiguous, its other names, and its phases. A kind with several controllers has a line
 * for each, with the name of the controller.
 */
export function listPlans(plans: readonly PlannedKind[]): string {
  const isAmbiguous = ({ kind, group }: NamedKind) =>
    plans.some(({ kind: other }) => other.kind === kind && other.group !== group)
  const rows = plans.map((plan) => {
    const { controller, kind, phases } = plan
    const what = phases === undefined ? EVERY_PASS : Object.keys(phases.phases).join(', ')
    return [
      isAmbiguous(kind) ? groupKindText(kind) : kind.kind,
      otherNames(kind),
      isShared(plan, plans) ? `${what} of controller ${controller}` : what,
    ]
  })
  return tableLines(rows)
    .map((line) => `${line}\n`)
    .join('')
}

const EVERY_PASS = 'every pass'
const ON_DELETE = 'a pass while the object is being deleted'
const ON_GONE = 'a pass after another client has removed the finalizer'
const INDENT = '  '

function inWords({ controller, kind, phases, step, onDelete, onGone }: PlannedKind, isOneOfSeveral: boolean): string {
  const whose = isOneOfSeveral ? `, controller ${controller}` : ''
  const title = `${kind.kind} (${otherNames(kind)}) of ${kind.apiVersion}${whose}`
  if (phases === undefined) {
    const parts = [
      ...[{ when: EVERY_PASS, does: step }, ...(onDelete === undefined ? [] : [{ when: ON_DELETE, does: onDelete }])],
      ...(onGone === undefined ? [] : [{ when: ON_GONE, does: onGone }]),
    ]
    return [title, ...parts.flatMap(({ when, does }) => ['', when, indented(describe(does))])].join('\n')
  }
  const start = `A job starts in ${phases.first(false)}, a deletion in ${phases.first(true)}.`
  const trees = Object.entries(phases.phases).map(
    ([name, { step }]) => `${heading(phases, name)}\n${indented(describe(step))}`,
  )
  const last = phases.ending === undefined ? [] : [`${BEFORE_END}\n${indented(describe(phases.ending))}`]
  return [title, start, ...trees, ...last].join('\n\n')
}

function heading({ phases, failed }: JobPlan<never>, name: string): string {
  const next = phases[name]?.next ?? name
  return next === name
    ? `${name}, until its step ends it; after a final fault ${failed(name)}`
    : `${name} ─► ${next}; after a final fault ${failed(name)}`
}

function asData({ controller, kind, phases, step, onDelete, onGone }: PlannedKind): object {
  const identity = { controller, kind: kind.kind, apiVersion: kind.apiVersion, names: namesOf(kind) }
  if (phases === undefined)
    return {
      ...identity,
      plan: toJson(step),
      ...(onDelete !== undefined && { onDelete: toJson(onDelete) }),
      ...(onGone !== undefined && { onGone: toJson(onGone) }),
    }
  return {
    ...identity,
    first: { job: phases.first(false), deletion: phases.first(true) },
    phases: Object.entries(phases.phases).map(([name, { step, next }]) => ({
      name,
      next,
      failed: phases.failed(name),
      plan: toJson(step),
    })),
    ...(phases.ending !== undefined && { ending: toJson(phases.ending) }),
    finalPhases: phases.finalPhases,
  }
}

function otherNames({ plural, shortNames }: NamedKind): string {
  return [plural, ...shortNames].join(', ')
}

function indented(tree: string): string {
  return tree.replaceAll(/^/gm, INDENT)
}

// Draws plans: as a text tree, as a Mermaid flowchart, or as JSON data. Reads names and children only and runs nothing.
// RFC: "Debug tool for visualizing the workflow".

import type { Step } from './step.ts'

/** The required part of a step; every `Step<Pass>` fits. */
export type DrawnStep = Pick<Step<never>, 'name'> & { readonly children: readonly DrawnStep[] }

/** The required part of job phases; every `JobPlan` fits. */
export interface DrawnPhases {
  readonly phases: Readonly<Record<string, { readonly step: DrawnStep; readonly next: string }>>
  readonly finalPhases: readonly string[]
  readonly ending?: DrawnStep | undefined
  readonly failed: (phase: string) => string
}

/** A plan as plain data; a step without children is an action. */
export interface PlanJson {
  readonly name: string
  readonly children: readonly PlanJson[]
}

/** The plan as JSON-safe data. */
export function toJson({ name, children }: DrawnStep): PlanJson {
  return { name, children: children.map(toJson) }
}

/** The plan as a text tree, one step per line. */
export function describe(plan: DrawnStep): string {
  return [plan.name, ...branches(plan.children, '')].join('\n')
}

/** The plan as a Mermaid flowchart: groups are rounded, actions are boxes, children in the order of the plan. */
export function toMermaid(plan: DrawnStep): string {
  return ['flowchart TD', ...flowchart(plan, 's')].join('\n')
}

/**
 * The phases of a job as one Mermaid flowchart: a frame with the plan per phase, thick arrows to the next phase, dotted arrows to the phase after a
 * final
 * fault. A phase that is its own next has no thick arrow: only its step leaves it. The `ending` step has its own frame without arrows.
 */
export function phasesToMermaid({ phases, finalPhases, ending, failed }: DrawnPhases): string {
  const names = [...Object.keys(phases), ...finalPhases]
  const idOf = (name: string) => `p${names.indexOf(name)}`
  const frames = Object.entries(phases).flatMap(([name, { step }]) => frame(idOf(name), name, step))
  const before = ending === undefined ? [] : frame('e', BEFORE_END, ending)
  const ends = finalPhases.map((name) => `  ${idOf(name)}(["${escapeLabel(name)}"])`)
  const arrows = Object.entries(phases).flatMap(([name, { next }]) => [
    ...(next === name ? [] : [`  ${idOf(name)} ==> ${idOf(next)}`]),
    `  ${idOf(name)} -.-> ${idOf(failed(name))}`,
  ])
  return ['flowchart TD', ...frames, ...before, ...ends, ...arrows].join('\n')
}

/** The title of the `ending` step in drawings. */
export const BEFORE_END = 'before any end'

function frame(id: string, name: string, step: DrawnStep): string[] {
  const lines = flowchart(step, `${id}s`).map((line) => `  ${line}`)
  return [`  subgraph ${id}["${escapeLabel(name)}"]`, ...lines, '  end']
}

/** Nodes and arrows of a plan; IDs are the prefix and a number. */
export function flowchart(plan: DrawnStep, prefix: string): string[] {
  const lines: string[] = []
  let count = 0
  const draw = (step: DrawnStep): string => {
    const id = `${prefix}${count++}`
    const [open, close] = step.children.length === 0 ? ['[', ']'] : ['(', ')']
    lines.push(`  ${id}${open}"${escapeLabel(step.name)}"${close}`)
    for (const child of step.children) lines.push(`  ${id} --> ${draw(child)}`)
    return id
  }
  draw(plan)
  return lines
}

/** The lines of the steps below a step at depth `indent`. */
export function branches(steps: readonly DrawnStep[], indent: string): string[] {
  return steps.flatMap((step, index) => {
    const last = index === steps.length - 1
    const below = branches(step.children, indent + (last ? '   ' : '│  '))
    return [`${indent}${last ? '└─ ' : '├─ '}${step.name}`, ...below]
  })
}

// Mermaid reads entity codes inside quoted labels; a bare quote would end the label.
function escapeLabel(name: string): string {
  return name.replaceAll('#', '#35;').replaceAll('"', '#quot;').replaceAll('<', '#lt;').replaceAll('>', '#gt;')
}

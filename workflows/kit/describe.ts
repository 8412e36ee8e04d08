// Draws plans: as an indented tree for terminals and as a Mermaid flowchart for pages. Reads names and children only, runs nothing.

import type { Step } from './step.ts'

/** What a drawing needs of a step; every `Step<Pass>` is one. */
export type DrawnStep = Pick<Step<never>, 'name'> & { readonly children: readonly DrawnStep[] }

/** The plan as a text tree, one step a line. */
export function describe(plan: DrawnStep): string {
  return [plan.name, ...branches(plan.children, '')].join('\n')
}

/** The plan as a Mermaid flowchart: groups are rounded, actions are boxes; children in the order of the plan. */
export function toMermaid(plan: DrawnStep): string {
  const lines = ['flowchart TD']
  let count = 0
  const draw = (step: DrawnStep): string => {
    const id = `s${count++}`
    const [open, close] = step.children.length === 0 ? ['[', ']'] : ['(', ')']
    lines.push(`  ${id}${open}"${escapeLabel(step.name)}"${close}`)
    for (const child of step.children) lines.push(`  ${id} --> ${draw(child)}`)
    return id
  }
  draw(plan)
  return lines.join('\n')
}

function branches(steps: readonly DrawnStep[], indent: string): string[] {
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

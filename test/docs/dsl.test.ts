// Compares docs/reference/controller-language.md with the compiler of the language of controllers: the `.cm` files that
// declare the objects a controller observes and its actions. `pawl gen` compiles them to TypeScript (workflows/kit/dsl).

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'

import { CODES, compile, formatDiagnostic } from '../../workflows/kit/dsl/index.ts'
import { firstColumn, section } from './markdown.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const page = await readFile(`${ROOT}/docs/reference/controller-language.md`, 'utf8')
const blocks = [...page.matchAll(/^```\w*\n([^]*?)^```$/gm)].map(([, block = '']) => block)
// The code blocks by their order in the page: the example `CronJob`, its plan, the types of Execution under "Modes",
// and a compiler error of the example.
const [example = '', plan = '', inMode = '', diagnostic = ''] = blocks

describe('the page on the language of controllers', () => {
  it('explains every code, once and in their order', async () => {
    const diagnostics = await readFile(`${ROOT}/docs/reference/kit/diagnostics.md`, 'utf8')
    expect(section(page, '## Diagnostics')).toContain('(kit/diagnostics.md)')
    expect(firstColumn(diagnostics)).toEqual(Object.keys(CODES))
  })

  it('shows a document without a mistake, and a plan of its steps', () => {
    const { code, diagnostics } = compile(example, { source: 'controller.cm', kit: 'pawl/kit' })
    expect(diagnostics).toEqual([])
    for (const name of ['CronJobState', 'cronJobQueries', 'CronJobPass', 'CronJobActions', 'cronJobSteps'])
      expect(code).toMatch(new RegExp(`export \\w+ ${name}\\b`))
    for (const [, step = ''] of plan.matchAll(/step\.(\w+)/g)) expect(code).toContain(`    ${step}: action(`)
  })

  it('explains every mode of the compiler, and shows names that mode job generates', async () => {
    const modes = firstColumn(section(page, '## Modes'))
    // The first ' {' of the example ends the head of its controller: `decl CronJob for CronJob {`.
    const { code, diagnostics } = compile(example.replace(' {', ' as job {'), {
      source: 'controller.cm',
      kit: 'pawl/kit',
    })
    expect(diagnostics).toEqual([])
    for (const name of ['CronJobObservation', 'CronJobActions<Pass>'])
      expect(code).toContain(`export interface ${name} {`)
    for (const mode of modes)
      expect(compile(example.replace(' {', ` as ${mode} {`), { source: '', kit: '' }).diagnostics).toEqual([])
    // The error message of an unknown mode lists the modes of the compiler.
    const [known = ''] = compile(example.replace(' {', ' as unknown {'), { source: '', kit: '' }).diagnostics.map(
      ({ message }) => message,
    )
    expect(known).toBe(`unknown mode 'unknown'; expected ${modes.slice(0, -1).join(', ')} or ${modes.at(-1) ?? ''}`)
    // The page shows names that `pawl gen` has generated for Execution.
    const own = await readFile(`${ROOT}/workflows/landscaper/execution/controller.gen.ts`, 'utf8')
    for (const name of ['ExecutionObservation', 'executionSteps', 'checkItems', 'applyDeployItems']) {
      expect(inMode).toContain(name)
      expect(own).toContain(name)
    }
  })

  it('shows the exact text that the compiler prints for a mistake in the example', () => {
    const wrong = example.replace('CleanUpOldJobs(jobs)', 'CleanUpOldJobs(job)')
    const { diagnostics } = compile(wrong, { source: 'controller.cm', kit: 'pawl/kit' })
    expect(diagnostics.map((found) => `${formatDiagnostic('controller.cm', wrong, found)}\n`)).toEqual([diagnostic])
  })
})

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'

import { CODES, compile, formatDiagnostic } from '../../workflows/kit/dsl/index.ts'
import { firstColumn, section } from './markdown.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const page = await readFile(`${ROOT}/docs/dsl.md`, 'utf8')
const blocks = [...page.matchAll(/^```\w*\n([^]*?)^```$/gm)].map(([, block = '']) => block)
const [example = '', plan = '', inMode = '', diagnostic = ''] = blocks

describe('the page on the language of controllers', () => {
  it('explains every code, once and in their order', () => {
    expect(firstColumn(section(page, '## Diagnostics'))).toEqual(Object.keys(CODES))
  })

  it('shows a document without a mistake, and a plan of its steps', () => {
    const { code, diagnostics } = compile(example, { source: 'controller.cm', kit: 'pawl/kit' })
    expect(diagnostics).toEqual([])
    for (const name of ['CronJobState', 'cronJobQueries', 'CronJobPass', 'CronJobActions', 'cronJobSteps'])
      expect(code).toMatch(new RegExp(`export \\w+ ${name}\\b`))
    for (const [, step = ''] of plan.matchAll(/step\.(\w+)/g)) expect(code).toContain(`    ${step}: action(`)
  })

  it('explains every mode, and shows names that are generated in another than level', async () => {
    const modes = firstColumn(section(page, '## Modes'))
    const { code, diagnostics } = compile(example.replace(' {', ' as job {'), {
      source: 'controller.cm',
      kit: 'pawl/kit',
    })
    expect(diagnostics).toEqual([])
    for (const name of ['CronJobObservation', 'CronJobActions<Pass>'])
      expect(code).toContain(`export interface ${name} {`)
    for (const mode of modes)
      expect(compile(example.replace(' {', ` as ${mode} {`), { source: '', kit: '' }).diagnostics).toEqual([])
    const [known = ''] = compile(example.replace(' {', ' as unknown {'), { source: '', kit: '' }).diagnostics.map(
      ({ message }) => message,
    )
    expect(known).toBe(
      `no mode is called 'unknown'; expected ${modes.slice(0, -1).join(', ')} or ${modes.at(-1) ?? ''}`,
    )
    const own = await readFile(`${ROOT}/workflows/landscaper/execution/controller.gen.ts`, 'utf8')
    for (const name of ['ExecutionObservation', 'executionSteps', 'checkItems', 'applyDeployItems']) {
      expect(inMode).toContain(name)
      expect(own).toContain(name)
    }
  })

  it('shows a diagnostic in the form and the words that it has', () => {
    const wrong = example.replace('CleanUpOldJobs(jobs)', 'CleanUpOldJobs(job)')
    const { diagnostics } = compile(wrong, { source: 'controller.cm', kit: 'pawl/kit' })
    expect(diagnostics.map((found) => `${formatDiagnostic('controller.cm', wrong, found)}\n`)).toEqual([diagnostic])
  })

  it('lists every selector and every statement', () => {
    expect(firstColumn(section(page, '## Selectors')).map((text) => text.split(/[=/]/)[0])).toEqual([
      'name',
      'namespace',
      'labels',
      'fields',
      'fields',
      'labelsFrom',
      'namespacesFrom',
      'pick',
      'owned',
      'fresh',
    ])
    expect(firstColumn(section(page, '## Statements')).map((text) => text.split(' ')[0])).toEqual([
      'bind',
      'alias',
      'decl',
      'NAME',
      'NAME',
      'NAME(STATE,',
      '//',
    ])
  })
})

// The files and commands of the tutorial, unchanged, in a project that has installed the package. Commands that need
// servers (`pawl dev`, kubectl) are tested in test/e2e.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { createProject, type Project } from './project.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/tutorial-cronjob.md'), 'utf8')
// Code blocks whose first line contains a file path.
const files = [...page.matchAll(/^```\w+ (\S+)\n([^]*?\n)```$/gm)].map(([, path = '', text = '']) => ({ path, text }))
// Commands and their expected output.
const shown = [...page.matchAll(/^\$ npx (.*)\n((?:(?!\$ |```).*\n)*)/gm)].map(([, command = '', output = '']) => ({
  command,
  output,
}))
const BINS: Readonly<Record<string, string>> = { pawl: 'pawl/worker/pawl.js', tsc: 'typescript/bin/tsc' }

let project: Project
beforeAll(() => {
  project = createProject()
  mkdirSync(join(project.dir, 'cron-job'))
  for (const { path, text } of files) writeFileSync(join(project.dir, path), text)
  for (const [copy] of page.matchAll(/^cp .*$/gm)) execFileSync('bash', ['-c', copy], { cwd: project.dir })
}, 120_000)
afterAll(() => project.remove())

describe('a reader of the tutorial', () => {
  it('finds files to type', () => {
    expect(files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['tsconfig.json', 'cron-job/kind.ts', 'cron-job/plan.test.ts']),
    )
    expect(shown.map(({ command }) => command.split(' ').slice(0, 2).join(' '))).toEqual([
      ...['pawl gen', 'pawl gen', 'tsc -p', 'pawl plan'],
    ])
  })

  // In the order of the page: later commands read files that earlier commands have written.
  it.each(shown)('sees what npx $command prints', ({ command, output }) => {
    const [bin = '', ...args] = command.split(' ')
    const { code, stdout, stderr } = project.run(BINS[bin] ?? bin, ...args)
    expect({ code, stdout: stdout.trim(), stderr }).toEqual({ code: 0, stdout: output.trim(), stderr: '' })
  })

  it('has the CRD of the example, and tests that pass', () => {
    const crd = readFileSync(join(project.dir, 'cron-job/cron-job.crd.yaml'), 'utf8')
    expect(crd).toBe(readFileSync(join(project.pawl, 'examples/cronjob/cron-job.crd.yaml'), 'utf8'))
    const tested = project.run('vitest/vitest.mjs', 'run', '--no-color')
    expect([tested.code, tested.stdout]).toEqual([0, expect.stringMatching(/Tests +3 passed/)])
  })
})

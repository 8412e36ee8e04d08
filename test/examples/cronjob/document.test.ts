import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { genControllers } from '../../../worker/gen/controllers.ts'
import { genRbac } from '../../../worker/gen/rbac-file.ts'

const ROOT = join(import.meta.dirname, '../../..')
const DOCUMENT = join(ROOT, 'examples/cronjob/cron-job.cm')

describe('the document of the CronJob example', () => {
  it('is that of the RFC but for the modules that it binds', async () => {
    const [ours, rfc] = await Promise.all([linesOf(DOCUMENT), linesOf('test/workflows/kit/dsl/golden/rfc.cm')])
    const renamed = rfc.map((line) => line.replace('controller-kit-demo/v1', 'batch.example.pawl.dev/v1'))
    const withoutModules = (lines: readonly string[]) => lines.map((line) => line.replace(/^(bind \S+) .*/, '$1'))
    expect(withoutModules(ours)).toEqual(withoutModules(renamed))
  })

  it('has no mistake, and its module is up to date', async () => {
    const lines: string[] = []
    const keep = (line: string) => lines.push(line)
    const code = await genControllers({ root: ROOT, files: [DOCUMENT], mode: 'check', print: keep, complain: keep })
    expect([code, lines]).toEqual([0, []])
  })
})

describe('the roles of the CronJob example', () => {
  it('are what its controller needs', async () => {
    const lines: string[] = []
    const keep = (line: string) => lines.push(line)
    const files = [join(ROOT, 'examples/cronjob/controllers.ts')]
    const out = join(ROOT, 'examples/cronjob/rbac.yaml')
    const asked = { name: undefined, namespaces: [], accounts: undefined, check: true, print: keep, complain: keep }
    expect([await genRbac({ files, out, ...asked }), lines]).toEqual([0, []])
  })
})

async function linesOf(path: string): Promise<readonly string[]> {
  return (await readFile(path.startsWith('/') ? path : join(ROOT, path), 'utf8')).split('\n')
}

// Checks that the generated files of the examples are up to date, and that the example of the RFC is unchanged.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { genControllers } from '../../worker/gen/controller-modules.ts'
import { genCrd } from '../../worker/gen/crd-file.ts'
import { genRbac } from '../../worker/gen/rbac-file.ts'

const ROOT = join(import.meta.dirname, '../..')

describe.each([
  ['cronjob', 'cron-job'],
  ['app', 'app'],
])('in the example %s', (folder, name) => {
  const file = (path: string) => join(ROOT, 'examples', folder, path)
  const lines: string[] = []
  const keep = (line: string) => lines.push(line)
  const output = { print: keep, complain: keep }

  it('the controller module is up to date with the document, which has no errors', async () => {
    const code = await genControllers({ root: ROOT, files: [file(`${name}.cm`)], mode: 'check', ...output })
    expect([code, lines]).toEqual([0, []])
  })

  it('the CRD is up to date with kind.ts', async () => {
    const out = file(`${name}.crd.yaml`)
    expect([await genCrd({ files: [file('kind.ts')], out, check: true, ...output }), lines]).toEqual([0, []])
  })

  it('the roles in rbac.yaml are up to date with the controllers', async () => {
    const asked = { name: undefined, namespaces: [], accounts: undefined, out: file('rbac.yaml'), check: true }
    expect([await genRbac({ files: [file('controllers.ts')], ...asked, ...output }), lines]).toEqual([0, []])
  })
})

it('the document of the CronJob example equals the document of the RFC except for the API group and the bound modules', async () => {
  const linesOf = async (path: string) => (await readFile(join(ROOT, path), 'utf8')).split('\n')
  const withoutModules = (lines: readonly string[]) => lines.map((line) => line.replace(/^(bind \S+) .*/, '$1'))
  const rfc = await linesOf('test/workflows/kit/dsl/golden/rfc.cm')
  const renamed = rfc.map((line) => line.replace('controller-kit-demo/v1', 'batch.example.pawl.dev/v1'))
  expect(withoutModules(await linesOf('examples/cronjob/cron-job.cm'))).toEqual(withoutModules(renamed))
})

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const DOCUMENT = join(ROOT, 'examples/cronjob/cron-job.cm')

describe('the document of the CronJob example', () => {
  it('equals the document of the RFC except for the API group and the bound modules', async () => {
    const [ours, rfc] = await Promise.all([linesOf(DOCUMENT), linesOf('test/workflows/kit/dsl/golden/rfc.cm')])
    const renamed = rfc.map((line) => line.replace('controller-kit-demo/v1', 'batch.example.pawl.dev/v1'))
    const withoutModules = (lines: readonly string[]) => lines.map((line) => line.replace(/^(bind \S+) .*/, '$1'))
    expect(withoutModules(ours)).toEqual(withoutModules(renamed))
  })
})

async function linesOf(path: string): Promise<readonly string[]> {
  return (await readFile(path.startsWith('/') ? path : join(ROOT, path), 'utf8')).split('\n')
}

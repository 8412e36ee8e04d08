import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'

import { INJECTOR_KINDS } from '../../workflows/chaos/contract.ts'
import { firstColumn, section } from './markdown.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const page = await readFile(`${ROOT}/docs/injector.md`, 'utf8')

describe('the page on the injector', () => {
  it('lists every variable that the injector reads', async () => {
    const settings = await readFile(`${ROOT}/activities/chaos/injector/settings.ts`, 'utf8')
    const read = [...settings.matchAll(/text\('([A-Z_]+)'\)/g)].flatMap(([, name]) => name ?? [])
    expect([...firstColumn(section(page, '## Variables'))].sort()).toEqual([...new Set(read)].sort())
  })

  it('says of every kind how it is done', () => {
    for (const { name } of INJECTOR_KINDS) expect(section(page, '## What it does')).toContain(`| ${name} |`)
  })
})

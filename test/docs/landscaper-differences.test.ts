// docs/reference/landscaper-differences.md states each fact that `pawl doctor --landscaper` reports.

import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'

import { FACTS } from '../../activities/landscaper/command/differences.ts'

const page = await readFile(new URL('../../docs/reference/landscaper-differences.md', import.meta.url), 'utf8')

it.each(Object.entries(FACTS))('the page of differences states the fact %s', (_name, fact) => {
  expect(page.replace(/\s+/g, ' ')).toContain(fact)
})

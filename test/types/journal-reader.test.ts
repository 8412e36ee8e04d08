// The type of the journal reader has no `execute` for statements that write.

import { expect, it } from 'vitest'
import type { Reader } from '../../activities/journal/read/reader.ts'

type Runs<Method extends keyof Reader> = Reader[Method] extends (...args: never[]) => { execute: unknown }
  ? true
  : false

it('no write compiles', () => {
  const runs: {
    readonly selectFrom: Runs<'selectFrom'>
    readonly deleteFrom: Runs<'deleteFrom'>
    readonly insertInto: Runs<'insertInto'>
    readonly updateTable: Runs<'updateTable'>
  } = { selectFrom: true, deleteFrom: false, insertInto: false, updateTable: false }
  expect(runs.deleteFrom).toBe(false)
})

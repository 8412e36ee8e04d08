import { describe, expect, it } from 'vitest'

import { type MeasuredFile, doubledFiles, formatReport, formatTable, parseTable } from './cost-table.ts'

describe('the stored table of test costs', () => {
  it('contains every measured file, most expensive first', () => {
    const files = [measured('test/a.test.ts', 1.5), measured('test/b.test.ts', 20)]
    expect(parseTable(formatTable(files))).toEqual([files[1], files[0]])
  })

  it('rejects a line that is not in its format, with the number of the line', () => {
    expect(() => parseTable('# header\n1.0 2.0 test/a.test.ts\n')).toThrow('test/costs.txt: line 2')
  })
})

describe('a test file that costs more than the stored table says', () => {
  const stored = [measured('test/a.test.ts', 10), measured('test/cheap.test.ts', 0.1)]

  it.each([
    { now: measured('test/a.test.ts', 20), reported: true, reason: 'its CPU time doubled' },
    { now: measured('test/a.test.ts', 19), reported: false, reason: 'its CPU time did not double' },
    { now: measured('test/cheap.test.ts', 2), reported: false, reason: 'a growth below 5 s is noise' },
    { now: measured('test/new.test.ts', 90), reported: false, reason: 'a new file has no stored cost' },
  ])('is reported: $reported, because $reason', ({ now, reported }) => {
    expect(doubledFiles([now], stored)).toHaveLength(reported ? 1 : 0)
    expect(formatReport([now], stored).includes('COST DOUBLED: test/a.test.ts: 20.0 s of CPU')).toBe(reported)
  })
})

function measured(file: string, cpuSeconds: number): MeasuredFile {
  return { file, project: 'unit', cpuSeconds, wallSeconds: 2, processes: 3 }
}

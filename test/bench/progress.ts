// Tells a person who waits how far the bench is: lines with the time since the start, on standard error.

export type Say = (line: string) => void

export function startProgress(): Say {
  const begin = performance.now()
  return (line) => {
    const seconds = ((performance.now() - begin) / 1000).toFixed(1)
    process.stderr.write(`${seconds.padStart(7)} s  ${line}\n`)
  }
}

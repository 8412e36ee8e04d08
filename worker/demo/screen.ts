// Shows a tree while it changes: redrawn in place on a terminal, otherwise printed again for each change.

export interface Screen {
  /** Shows the lines instead of those shown before. */
  readonly update: (lines: readonly string[]) => void
  /** Leaves what is shown where it is. */
  readonly end: () => void
}

export function liveLines(output: NodeJS.WriteStream): Screen {
  let shown: readonly string[] = []
  const write = (text: string) => void output.write(text)
  return {
    update(lines) {
      if (lines.join('\n') === shown.join('\n')) return
      if (output.isTTY) {
        // Up to the first line of what is shown, and clear from there.
        if (shown.length > 0) write(`\u001b[${shown.length}A\u001b[0J`)
        write(`${lines.join('\n')}\n`)
      } else {
        write(`${lines.join('\n')}\n\n`)
      }
      shown = lines
    },
    end: () => (shown = []),
  }
}

// What shells run to complete the command line of `pawl`. All ask `pawl __complete` with the words so far.

export const SHELLS = ['bash', 'zsh', 'fish'] as const

export type Shell = (typeof SHELLS)[number]

const BASH = `_pawl() {
  local IFS=$'\\n'
  COMPREPLY=($(pawl __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == */ ]] && compopt -o nospace
  return 0
}
complete -o default -F _pawl pawl kubectl-pawl
`

const ZSH = `#compdef pawl kubectl-pawl
_pawl() {
  local -a found
  found=("\${(@f)$(pawl __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- \${found:#*/}
  compadd -S '' -- \${(M)found:#*/}
}
compdef _pawl pawl kubectl-pawl
`

const FISH = `function __pawl_complete
  set -l before (commandline -opc)
  pawl __complete -- $before[2..] (commandline -ct | string collect --allow-empty) 2>/dev/null
end
complete -c pawl -f -a '(__pawl_complete)'
complete -c kubectl-pawl -f -a '(__pawl_complete)'
`

export const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH }

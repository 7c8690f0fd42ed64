"""Which results are only stand-ins: they fill in for one that is not there.

Only consulted when two results claim one call, so that a real one which reads like a stand-in is never lost where it
stands alone. The texts are those by which frameworks, coding tools and people fill in.
"""

from __future__ import annotations

import re

from suture.messages import Text, ToolResult

# A stand-in that names its subject may go on as it likes; without one, nothing but a reason may follow, since results
# begin with such words too: `Cancelled order 42, refund issued.`
_STAND_IN = re.compile(
    r"""
    ^\W*(?:[\w-]+\]\W+)?(?:error\W+)?                                        # `[openclaw] `, `Error: `
    (?:
        (?:the\ |this\ |previous\ |your\ )*
        (?:(?:tool|function)(?:['\ ]s)?\ )?(?:call|use|execution|run|result|response|output|tool|function)
        (?:\ ['"`]?[\w.-]+['"`]?)??(?:\ with\ id\ \S+)?
        (?:\ was|\ is|\ has\ been|\ got)?
        (?:
            [/\ ](?:interrupted|aborted|cancell?ed|skipped)\b                 # Riffer, Codex, Strands, deepagents
          | \ (?:missing|lost|unavailable|not\ (?:available|recorded|found))\b # qwen-code
          | \ not\ (?:run|executed|completed|finished)\b                      # turnsafe, Mistri, Pydantic AI
          | \ did\ not\ (?:run|complete|finish|return)\b                      # ours
          | \ (?:was\ started|ran),\ and\ its\ (?:outcome|result)\b           # ours
          | \ (?:rejected|declined|denied)\ by\b
        )
      | request\ interrupted\ by\ user\b                                     # Claude Code
      | (?:missing|synthetic)\ (?:error\ )?(?:tool\ )?(?:result|output)\b      # openclaw
      | no\ tool\ (?:result|output)\b
      | (?:
            (?:was\ )?(?:interrupted|aborted|cancell?ed|skipped)(?:/\w+)?
          | (?:was\ )?(?:rejected|declined|denied)(?=\ by\b)
          | (?:was\ )?(?:not|never)\ (?:run|executed|completed|finished)
          | did\ not\ (?:run|complete|finish|return)
          | no\ result(?:\ (?:was\ )?(?:provided|available|recorded|returned|received|produced))?  # pi, Roo
        )
        (?:\W+by\ (?:the\ )?\w+)?
        (?:\W+(?:interrupted|aborted|cancell?ed|lost|because|before|after|during|due\ to|since|as|or\ its)\b[^,;\n]{0,120}
          |\ for\ (?:this|the|that|tool)\b[^,;\n]{0,80}
          |\ \([^()\n]{0,80}\)
        )?\W*$
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LONGEST = 300


def is_stand_in(result: ToolResult) -> bool:
    """Whether the result only says that there is none: marked as synthetic, or worded like a stand-in."""
    if result.synthetic is not None:
        return result.synthetic != "denied"
    parts = result.parts
    if len(parts) != 1 or type(parts[0]) is not Text:
        return False
    text = parts[0].text
    return len(text) <= _LONGEST and _STAND_IN.match(text) is not None

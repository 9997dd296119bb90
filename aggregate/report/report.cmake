# The page of report.html: its sources as C texts. Included by aggregate/CMakeLists.txt; sets PP_REPORT_SOURCES.
set(report_dir ${CMAKE_CURRENT_SOURCE_DIR}/report/page)
set(report_app data.js theme.js select.js inflate.js table.js heatmap.js plot.js columns.js overview.js bands.js viewer.js board.js strip.js mix.js waiting.js blame.js advice.js trace_data.js trace_draw.js trace_view.js trace_input.js trace_panes.js tracks.js samples.js clock.js operator.js kernel.js input.js tfdata.js memory.js skyline.js together.js collectives.js
  groups.js app.js)
set(report_diff_app data.js theme.js inflate.js table.js heatmap.js board.js strip.js diff_board.js diff.js)
list(TRANSFORM report_diff_app PREPEND ${report_dir}/)
list(JOIN report_diff_app "+" report_diff_app_text)
list(TRANSFORM report_app PREPEND ${report_dir}/)
set(report_embedded ${CMAKE_CURRENT_BINARY_DIR}/report_embed.c)
list(JOIN report_app "+" report_app_text)
add_custom_command(OUTPUT ${report_embedded}
  COMMAND ${CMAKE_COMMAND} -DOUT=${report_embedded}
    "-DTEXTS=page=${report_dir}/page.html|style=${report_dir}/style.css|boot=${report_dir}/boot.js|app.gz=${report_app_text}|diffpage=${report_dir}/diff.html|diffapp.gz=${report_diff_app_text}"
    -P ${report_dir}/embed.cmake
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/report/report.cmake ${report_dir}/embed.cmake ${report_dir}/page.html ${report_dir}/style.css ${report_dir}/boot.js ${report_app} ${report_dir}/diff.html ${report_diff_app}
  COMMENT "Embedding the report's page" VERBATIM)
set(PP_REPORT_SOURCES
  report/report.c
  report/table_print.c
  report/brief.c
  report/check.c
  report/unknown.c
  report/data/plain.c
  report/data/plain_table.c
  report/data/plain_text.c
  report/data/still.c
  report/data/png.c
  report/data/section.c
  report/data/board.c
  report/data/first.c
  report/data/fact.c
  report/data/sentence.c
  report/data/evidence.c
  report/data/rank_mean.c
  report/data/run.c
  report/data/cell.c
  report/data/table.c
  report/data/arrival.c
  report/data/pod.c
  report/data/quartile.c
  report/data/message.c
  report/data/skyline.c
  report/data/op.c
  report/data/timeline.c
  report/data/pick.c
  report/data/chunk.c
  write/json.c
  write/json_object.c
  ${report_embedded})
